import Diamond
import Foundation
import HTTPTypes

/// A call of a model to its API.
public enum ModelCall: Hashable, Sendable, CaseIterable {
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
    /// The text as a segment of a URL's path.
    var urlSegment: String { utf8.map(Self.escaped).joined() }

    /// Returns the URL with a segment appended to its path, before query and fragment.
    fileprivate func appending(segment: String) throws -> String {
        guard segment != ".", segment != "..", !segment.isEmpty else {
            throw ModelError(.missingID, "a URL cannot end with the id \"\(segment)\": override request(for:body:)")
        }
        let end = utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? endIndex
        let path = self[..<end]
        return path + (path.hasSuffix("/") ? "" : "/") + segment.urlSegment + self[end...]
    }

    /// Percent-encodes a byte, unless it is an unreserved character (RFC 3986 section 2.3).
    private static func escaped(_ byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            String(UnicodeScalar(byte))
        default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
    }
}
