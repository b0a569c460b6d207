import Dispatch
import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The transport over Foundation's URLSession: the default on Apple platforms, and on Linux without the trait `Curl`.
///
/// It has no cache and no cookies, and follows no redirect. The limits of Foundation, and so of this transport:
///
/// - The body of a request is held in memory whole: Foundation's streams send only chunks of an unknown length.
/// - GET carries no body.
/// - Foundation adds fields that were not set: `Accept`, `Accept-Language`, `Connection`, `User-Agent`.
/// - Several fields of one name arrive joined by commas; their order is lost. `Set-Cookie` is split again, which fails
///   for a value with a comma that looks like the beginning of another cookie.
/// - Foundation does not report when a connection is established: `connectTimeout` is ignored, and
///   `serverMayHaveActed` is `true` unless the URL or the body was refused, the host could not be resolved or
///   connected to, or TLS failed. HTTP/2 is used where Foundation uses it, without a report.
/// - The connection cannot be chosen: ``TransportRequest/needsNewConnection`` is ignored.
///
/// On Apple platforms there are further limits:
///
/// - The system decodes a body even if the request names its codings itself.
/// - The system does not report the received bytes of a coded body. So only the size of the decoded body is limited
///   (``Request/bodyLimit``), not its growth.
/// - Apple does not document the outcome for a coding that is cut within correct framing. Ask for `identity` if that
///   matters.
/// - If the type of a body is unspecific, such as `text/plain`, the head arrives only with the first 512 bytes of the
///   body, because the system inspects them. JSON and streams of events are not delayed.
///
/// On Linux there are further limits:
///
/// - Bodies are requested with `Accept-Encoding: identity`. Foundation removes codings by itself and does not report
///   whether they were complete. A coded body is therefore refused as `badResponse`, which names the coding.
/// - A body that is read more slowly than it comes is held in memory.
/// - A response with a field that is not UTF-8 fails as `connectionLost`; so does a body without its last chunk, and a
///   head that is too large. A reset in a body of known length is `truncatedBody`.
/// - A response with trailers after its body ends the process: Foundation traps
///   (<https://github.com/swiftlang/swift-corelibs-foundation/issues/5285>). Do not send to a server that is not
///   trusted.
/// - An exchange canceled during its name lookup delays every other exchange of the process over URLSession until the
///   lookup ends.
/// - A POST is repeated when a reused connection turns out to be closed. A request without a response is repeated up to
///   five times, as long as connections are idle.
/// - Bytes that a server sends on an idle connection are taken for the response to the next request
///   (<doc:ChoosingATransport>).
/// - The extensions of chunks are not limited.
/// - Versions of TLS before 1.2 are offered, too.
/// - A response with a blank before the colon of a field fails as `connectionLost`.
public final class URLSessionTransport: Transport {
    /// The timeout that stands for none, in seconds: Foundation's own default for a whole transfer.
    static let noTimeout: TimeInterval = 7 * 86400

    private let session: URLSession
    private let exchanges = URLSessionExchanges()
    /// The queue for all calls to the session. Foundation on Linux makes its callers wait, even for a name lookup. A
    /// task that waited would block its executor.
    private let control = DispatchQueue(label: "diamond.urlsession")

    /// Creates a transport with the system's certificates and proxies.
    public convenience init() { self.init(unchecked: TransportSettings()) }

    /// Creates a transport with settings.
    ///
    /// - Throws: `badSettings` for settings that URLSession does not support. On Linux it supports only the defaults.
    ///   On Apple platforms it also supports ``ProxySelection/none`` and a minimum version of TLS.
    public convenience init(_ settings: TransportSettings) throws(TransportError) {
        if let refusal = settings.refusal { throw refusal }
        self.init(unchecked: settings)
    }

    private init(unchecked settings: TransportSettings) {
        let configuration = URLSessionConfiguration.ephemeral
        #if !canImport(FoundationNetworking)
        if settings.proxy == .none { configuration.connectionProxyDictionary = [:] }
        switch settings.tls.minimumVersion {
        case nil, .v1_2: configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
        case .v1_3: configuration.tlsMinimumSupportedProtocolVersion = .TLSv13
        }
        #endif
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpMaximumConnectionsPerHost = 64
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // The transport has its own timeouts, with millisecond precision.
        configuration.timeoutIntervalForRequest = Self.noTimeout
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit { end() }

    public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let urlRequest = try await URLSessionRequest.make(from: request)
        let exchange = URLSessionExchange(request, control: control)
        let outcome = await withTaskCancellationHandler {
            await exchange.pendingResponse.outcome {
                exchange.watch()
                control.async { [exchanges, session] in exchanges.start(exchange, with: urlRequest, on: session) }
            }
        } onCancel: {
            exchange.cancel()
        }
        return try outcome.get()
    }

    public func close() async { end() }

    private func end() {
        exchanges.close()
        control.async { [session] in session.invalidateAndCancel() }
    }
}
