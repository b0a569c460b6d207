import Diamond
import Foundation
import HTTPTypes

/// A call of a model to its API. Its raw value is stored with a queued call.
public enum ModelCall: String, Hashable, Sendable, CaseIterable {
    /// Reads the object: GET.
    case fetch
    /// Creates an object: POST.
    case create
    /// Writes the changes: PATCH.
    case update
    /// Writes the whole object: PUT.
    case replace
    /// Deletes the object: DELETE.
    case destroy

    var method: HTTPRequest.Method {
        switch self {
        case .fetch: .get
        case .create: .post
        case .update: .patch
        case .replace: .put
        case .destroy: .delete
        }
    }
}

extension Model {
    /// Returns the default request of ``request(for:body:)``.
    final func standardRequest(for call: ModelCall, body: JSONValue?) throws -> Request {
        guard var request = server?.list else {
            throw ModelError(
                .noResource,
                "\(type(of: self)) has no URL: override `resource`, or add it to a collection that has a source")
        }
        if call != .create {
            guard let id = serverID ?? tracking.syncing?.urlID else {
                throw ModelError(.missingID, "the object has no server id yet: save it first")
            }
            request.url = try request.url.appending(segment: id.description)
        }
        request.method = call.method
        request.body = body.map { .json($0) }
        return request
    }
}

extension String {
    /// Returns the URL with a segment appended to its path, before query and fragment.
    fileprivate func appending(segment: String) throws -> String {
        guard segment != ".", segment != "..", !segment.isEmpty else {
            throw ModelError(.missingID, "a URL cannot end with the id \"\(segment)\": override request(for:body:)")
        }
        let end = utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? endIndex
        let path = self[..<end]
        return path + (path.hasSuffix("/") ? "" : "/") + segment.urlSegment + self[end...]
    }
}
