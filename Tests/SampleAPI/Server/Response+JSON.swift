#if Tools
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

extension Response {
    init(status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], json value: some Encodable) throws {
        self.init(status: status, headers: headers, json: try JSON.encode(value))
    }

    init(status: HTTPResponse.Status, headers: HTTPFields, json data: Data) {
        var headers = headers
        headers[.contentType] = "application/json"
        self.init(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }
}

extension HTTPFields {
    /// For what changes with every request.
    static let uncacheable: HTTPFields = [.cacheControl: "no-store"]
}

extension HTTPField.Name {
    static let idempotencyKey = Self.known("Idempotency-Key")
    static let idempotencyReplayed = Self.known("Idempotency-Replayed")
    static let link = Self.known("Link")

    /// A name that is written in this source, and so is a token.
    static func known(_ text: String) -> Self {
        guard let name = Self(text) else { preconditionFailure("\(text) is not a field name") }
        return name
    }
}
#endif
