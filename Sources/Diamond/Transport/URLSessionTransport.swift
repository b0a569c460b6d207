import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The transport over Foundation's URLSession: the default on Apple platforms, and on Linux without the trait `Curl`.
///
/// Has no cache, no cookies and follows no redirect. What Foundation on Linux cannot do, and so this cannot there:
///
/// - The body of a request is held in memory whole: its streams send chunks of an unknown length only.
/// - A body is held back by suspending its task, which stops only between the pieces already under way.
/// - A body cut short and a reset connection come with one code, -1 or -1005; both are told as `connectionLost` unless
///   the length that was promised shows the difference.
/// - Several fields of one name arrive joined by commas, `Set-Cookie` included; header values that are not UTF-8 are lost.
/// - `requestMayHaveBeenSent` is `true` unless the host could not be resolved or connected to.
/// - HTTP/2 is not spoken. `connectTimeout` counts until the head, as `timeout` does.
public final class URLSessionTransport: Transport {
    private let session: URLSession
    private let exchanges: URLSessionExchanges

    public init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpMaximumConnectionsPerHost = 64
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // The transport keeps its own time, to the millisecond.
        configuration.timeoutIntervalForRequest = 7 * 86400
        exchanges = URLSessionExchanges()
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let urlRequest = try await URLSessionRequest.make(from: request)
        let exchange = URLSessionExchange(request)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                guard exchange.expect(waiter) else { return }
                guard exchanges.start(exchange, urlRequest, on: session) else {
                    return exchange.end(TransportError(.closed, "the transport was closed: make a new engine"))
                }
            }
        } onCancel: {
            exchange.cancel(.cancelled, "the request was canceled")
        }
        return try outcome.get()
    }

    public func close() async {
        exchanges.close()
        session.invalidateAndCancel()
    }
}
