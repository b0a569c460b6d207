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
    /// Whether the transport asks for a coding. Ranges count coded bytes, so they ask for none.
    private let asksForCoding: Bool
    /// Whether the client that decodes is asked. The answer to HEAD has no body, which would pass for a truncated one.
    let isDecoded: Bool
    /// Whether the head of the response is to tell nothing of the coding: a client of the program's decodes all there is.
    let hidesCoding: Bool

    init(_ request: TransportRequest, clients: HTTPClientPair) {
        self.request = request
        let isFree = !request.headers.contains(.acceptEncoding) && !request.headers.contains(.range)
        asksForCoding = clients.decompresses && isFree
        isDecoded = asksForCoding && request.method != .head
        hidesCoding = clients.isOwn ? asksForCoding : clients.decompresses
    }

    /// - Parameter send: sends the body.
    func message(_ send: @escaping @Sendable (Writer) -> EventLoopFuture<Void>) throws -> HTTPClient.Request {
        try HTTPClient.Request(
            url: request.url,
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
        if asksForCoding { headers.add(name: "Accept-Encoding", value: "gzip, deflate") }
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
