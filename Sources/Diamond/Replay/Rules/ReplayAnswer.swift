import Crypto
public import Foundation
package import HTTPTypes

/// The answer to a job, stored until it is consumed.
public struct ReplayAnswer: Hashable, Sendable {
    package var status: HTTPResponse.Status
    /// The path of the `Location` field, which names a new object (RFC 9110 section 10.2.2). The query is left out,
    /// because it may contain a secret.
    package var location: String?
    /// The other header fields that may be stored: neither those of the connection nor those with secrets.
    package var headers: HTTPFields
    /// The body; `nil` if it could not be read.
    package var body: Data?

    package init(
        status: HTTPResponse.Status, location: String? = nil, headers: HTTPFields = [:], body: Data? = nil
    ) {
        self.status = status
        self.location = location
        self.headers = headers
        self.body = body
    }

    /// The response, as its server sent it.
    ///
    /// - Parameter url: the URL of the request.
    package func response(from url: String) -> Response {
        var headers = headers
        headers[.location] = location
        return Response(status: status, headers: headers, body: body ?? Data(), url: url)
    }

    /// Returns the local id of the object that a request creates, and the object's id; `nil` if the request creates
    /// none, or the answer has no id.
    ///
    /// - Parameter request: the request (``ReplayDraft/request``).
    public func id(createdBy request: Data) -> (localID: String, id: JSONValue)? {
        guard let creation = (try? Request(json: request))?.replay.creates, let id = id(of: creation) else {
            return nil
        }
        return (creation.localID, id)
    }

    /// Returns the id of the object that the job has created; `nil` if the answer has none.
    func id(of creation: ReplayCreation) -> JSONValue? {
        guard status.kind == .successful, !creation.paths.isEmpty else { return nil }
        let json = body.flatMap { try? JSONValue.read($0) }
        for path in creation.paths {
            let value = path.reduce(json) { value, name in
                if case .object(let members)? = value { members[name] } else { nil }
            }
            if let value, value.isID { return value }
        }
        return location.flatMap(JSONValue.init(idInLocation:))
    }

    /// The headers as lines; `nil` for none.
    var headerBlock: Data? { headers.isEmpty ? nil : HeaderBlock.bytes(of: headers) }

    /// The first 64 bits of a SHA-256 digest.
    var checksum: Int64 {
        var hash = SHA256()
        let counts = [Int64(status.code), Int64(location?.utf8.count ?? -1), Int64(body?.count ?? -1)]
        counts.withUnsafeBytes { hash.update(bufferPointer: $0) }
        if let location { hash.update(data: Data(location.utf8)) }
        if let body { hash.update(data: body) }
        // Answers of earlier versions have none.
        if let headerBlock { hash.update(data: headerBlock) }
        return hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    }
}
