import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A builder of Foundation's form of a request.
enum URLSessionRequest {
    static func make(from request: TransportRequest) async throws(TransportError) -> URLRequest {
        if let refusal = request.refusal { throw refusal }
        guard let url = URL(string: request.strictURL) else {
            throw TransportError(.badURL, "the URL cannot be sent: percent-encode it as RFC 3986 says")
        }
        var made = URLRequest(url: url)
        made.httpMethod = request.method.rawValue
        made.httpShouldHandleCookies = false
        // The transport has timeouts of its own. Foundation's default is a minute.
        made.timeoutInterval = URLSessionTransport.noTimeout
        if !mayUseCoding(request) { made.setValue("identity", forHTTPHeaderField: "Accept-Encoding") }
        for field in request.headers.sentAsText {
            made.addValue(field.value, forHTTPHeaderField: field.name.rawName)
        }
        made.httpBody = try await body(of: request)
        return made
    }

    #if canImport(FoundationNetworking)
    /// Returns `false`: Foundation on Linux removes a coding without a report whether it was complete.
    private static func mayUseCoding(_ request: TransportRequest) -> Bool { false }
    #else
    /// Whether the response may have a coding. A range counts coded bytes, so it must have none.
    private static func mayUseCoding(_ request: TransportRequest) -> Bool { !request.headers.contains(.range) }
    #endif

    private static func body(of request: TransportRequest) async throws(TransportError) -> Data? {
        switch request.body {
        case .none: return nil
        case .bytes(let data): return data
        case .stream(let length, let make): return try await collect(make(), length: length)
        }
    }

    // Read through a pipe, so that a cancellation ends the wait at once, even if the stream ignores it.
    private static func collect(
        _ pieces: any AsyncSequence<Data, any Error> & Sendable,
        length: Int64?
    ) async throws(TransportError) -> Data {
        let body: Data
        do throws(TransportError) {
            body = try await BodyStream(pieces).collect()
        } catch {
            guard !Task.isCancelled else { throw .cancelled(serverMayHaveActed: false) }
            throw .badStream("failed: see the cause", serverMayHaveActed: false, cause: error.cause ?? error)
        }
        guard body.count == length ?? Int64(body.count) else {
            throw .badStream("has another length than announced", serverMayHaveActed: false)
        }
        return body
    }
}
