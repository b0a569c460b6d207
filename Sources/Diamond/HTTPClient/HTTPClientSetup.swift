#if AsyncHTTPClient
import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1

/// async-http-client's form of a request.
struct HTTPClientSetup {
    typealias Writer = HTTPClient.Body.StreamWriter

    private let request: TransportRequest
    /// Whether the transport requests codings.
    private let requestsCodings: Bool
    /// Whether the transport removes them.
    let isDecoded: Bool
    /// Whether the client removes the codings that it knows, whatever the request accepts.
    let isDecodedByClient: Bool

    init(_ request: TransportRequest, owner: HTTPClientOwner) {
        self.request = request
        isDecodedByClient = owner.decompresses
        isDecoded = owner.isOwn && request.isDecoded
        requestsCodings = request.requestsCodings && (owner.isOwn || owner.decompresses)
    }

    /// - Parameter send: sends the body.
    func message(_ send: @escaping @Sendable (Writer) -> EventLoopFuture<Void>) throws -> HTTPClient.Request {
        try HTTPClient.Request(
            url: request.strictURL,
            method: HTTPMethod(rawValue: request.method.rawValue),
            headers: headers,
            body: body(send)
        )
    }

    private var headers: HTTPHeaders {
        var headers = HTTPHeaders()
        for field in request.headers.sentAsText {
            headers.add(name: field.name.rawName, value: field.value)
        }
        if requestsCodings { headers.add(name: "Accept-Encoding", value: ContentCoding.accepted) }
        return headers
    }

    private func body(_ send: @escaping @Sendable (Writer) -> EventLoopFuture<Void>) -> HTTPClient.Body? {
        switch request.body {
        case .none: nil
        case .bytes(let data): .stream(contentLength: Int64(data.count), send)
        case .stream(let length, _): .stream(contentLength: length, send)
        }
    }
}
#endif
