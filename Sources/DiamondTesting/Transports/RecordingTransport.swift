public import Diamond
import DiamondSQLite
import Foundation
import HTTPTypes

/// Sends requests over another transport, and records the exchanges for a ``ReplayingTransport``.
///
/// ```swift
/// let transport = RecordingTransport(CurlTransport())
/// // … send requests with an engine that has this transport …
/// try transport.recording.write(to: file)
/// ```
///
/// Response bodies are read completely before they are passed on. Failed exchanges are not recorded.
public final class RecordingTransport: Transport {
    private let transport: any Transport
    private let exchanges = Guarded<[Recording.Exchange]>([])

    /// Creates a transport that records another one. Closing it also closes the other one.
    public init(_ transport: any Transport) { self.transport = transport }

    /// The exchanges recorded so far, in the order in which they ended.
    public var recording: Recording { Recording(exchanges: exchanges.withLock { $0 }) }

    public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        var response = try await transport.send(request)
        let body = try await response.body.collect()
        exchanges.withLock { $0.append(Recording.Exchange(request, response: response, body: body)) }
        response.body = BodyStream(body)
        return response
    }

    public func close() async { await transport.close() }
}

extension Recording.Exchange {
    fileprivate init(_ request: TransportRequest, response: TransportResponse, body: Data) {
        let (shown, headers) = Masking.response(body: body, headers: response.headers)
        self.init(
            method: request.method.rawValue,
            url: SecretNames.masked(request.url),
            requestBody: Recording.Body(request),
            status: response.status.code,
            headers: headers.map { "\($0.name): \($0.value)" },
            body: Recording.Body(shown)
        )
    }
}

extension Recording.Body {
    /// Creates the body of a request with masked secrets; `nil` if there is none, or if it is streamed.
    fileprivate init?(_ request: TransportRequest) {
        guard case .bytes(let data) = request.body else { return nil }
        self.init(Masking.body(data, headers: request.headers))
    }
}

extension Recording {
    /// The key by which a request finds its recorded exchange: method, URL and body. Secrets are masked, also those of
    /// handwritten recordings.
    struct ExchangeKey: Hashable {
        let method: String
        let url: String
        let body: Body?

        init(_ request: TransportRequest) {
            self.init(method: request.method.rawValue, url: SecretNames.masked(request.url), body: Body(request))
        }

        init(_ exchange: Exchange) { self.init(method: exchange.method, url: exchange.url, body: exchange.requestBody) }

        // Masking a second time changes nothing.
        private init(method: String, url: String, body: Body?) {
            self.method = method
            self.url = SecretNames.masked(url)
            self.body = body.map { Body(Masking.body($0.data)) }
        }
    }
}
