import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Foundation's form of a request.
enum URLSessionRequest {
    static func make(from request: TransportRequest) async throws(TransportError) -> URLRequest {
        guard let url = URL(string: request.url), url.scheme == "http" || url.scheme == "https" else {
            throw TransportError(.badURL, "the URL cannot be sent: give an http or https URL")
        }
        var made = URLRequest(url: url)
        made.httpMethod = request.method.rawValue
        made.httpShouldHandleCookies = false
        for field in request.headers where field.name != .contentLength {
            made.addValue(field.value, forHTTPHeaderField: field.name.rawName)
        }
        made.httpBody = try await body(of: request)
        return made
    }

    private static func body(of request: TransportRequest) async throws(TransportError) -> Data? {
        switch request.body {
        case .none: return nil
        case .bytes(let data): return data
        case .stream(_, let make): return try await collect(make())
        }
    }

    private static func collect(
        _ pieces: any AsyncSequence<Data, any Error> & Sendable
    ) async throws(TransportError) -> Data {
        do {
            var body = Data()
            for try await piece in pieces { body.append(piece) }
            return body
        } catch {
            throw TransportError(
                .badRequestBody, "the stream of the request's body failed: see the cause", cause: error)
        }
    }
}
