import Dispatch
import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The transport over Foundation's URLSession: the default on Apple platforms, and on Linux without the trait `Curl`.
///
/// Has no cache, no cookies and follows no redirect. What Foundation cannot do, and so this cannot:
///
/// - The body of a request is held in memory whole: Foundation's streams send chunks of an unknown length only.
/// - GET carries no body.
/// - Fields are added that were not set: `Accept`, `Accept-Language`, `Connection`, `User-Agent`.
/// - Several fields of one name arrive joined by commas; their order is lost. `Set-Cookie` is taken apart again, which
///   fails for a value with a comma that looks like the begin of another cookie.
/// - Nothing tells when a connection stands: `connectTimeout` is not kept, and `requestMayHaveBeenSent` is `true` unless
///   the host could not be resolved or connected to. HTTP/2 is used where Foundation does, unseen.
/// - Nothing chooses the connection: ``TransportRequest/needsNewConnection`` is not kept.
///
/// On Apple platforms a body is decoded by the system even when the request names its codings itself. Nothing tells how many
/// bytes of a coded body have come: only its size is bounded (``Request/bodyLimit``), not how far it grows. Apple does not
/// document what becomes of a body whose coding is cut within framing that is right: ask for `identity` where that counts.
///
/// There, too, the head and the first 512 bytes of a body whose type says little, such as `text/plain`, come together: the
/// system looks at them first. JSON and streams of events come as they are.
///
/// On Linux, moreover:
///
/// - Bodies are asked for with `Accept-Encoding: identity`. Foundation removes codings by itself and does not tell whether
///   they have come to their ends, so that a coded body is refused: as `badResponse`, which names the coding.
/// - A body that is read more slowly than it comes is held in memory.
/// - A response with a field that is not UTF-8 fails as `connectionLost`; so does a body without its last chunk, and a head
///   that is too large. A reset in a body of known length is `truncatedBody`.
/// - A response with trailers behind its body ends the process: Foundation traps
///   (<https://github.com/swiftlang/swift-corelibs-foundation/issues/5285>). Do not ask a server that is not trusted.
/// - An exchange canceled while its host's name is being looked up holds up every other exchange of the process over
///   URLSession until the lookup ends.
/// - A POST is repeated when a kept connection turns out to be closed.
public final class URLSessionTransport: Transport {
    /// Foundation's own default for a whole transfer, in seconds.
    static let noTimeout: TimeInterval = 7 * 86400

    private let session: URLSession
    private let exchanges = URLSessionExchanges()
    /// Where everything is asked of the session. Foundation on Linux makes its callers wait, for a name lookup even, and
    /// a task that waited would hold up all of its executor.
    private let control = DispatchQueue(label: "diamond.urlsession")

    /// With the system's certificates and proxies.
    public convenience init() { self.init(unchecked: TransportSettings()) }

    /// - Throws: `badSettings` for what URLSession cannot do: on Linux all that is not the default; elsewhere everything but
    ///   no proxy at all, and a minimum version of TLS.
    public convenience init(_ settings: TransportSettings) throws(TransportError) {
        if let refusal = settings.refusal { throw refusal }
        self.init(unchecked: settings)
    }

    private init(unchecked settings: TransportSettings) {
        let configuration = URLSessionConfiguration.ephemeral
        #if !canImport(FoundationNetworking)
        if settings.proxy == .none { configuration.connectionProxyDictionary = [:] }
        switch settings.tls.minimumVersion {
        case nil: break
        case .v1_2: configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
        case .v1_3: configuration.tlsMinimumSupportedProtocolVersion = .TLSv13
        }
        #endif
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpMaximumConnectionsPerHost = 64
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // The transport keeps its own time, to the millisecond.
        configuration.timeoutIntervalForRequest = Self.noTimeout
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit { end() }

    public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let urlRequest = try await URLSessionRequest.make(from: request)
        let exchange = URLSessionExchange(request, control: control)
        let outcome = await withTaskCancellationHandler {
            await exchange.reception.outcome {
                exchange.watch()
                control.async { [exchanges, session] in exchanges.start(exchange, urlRequest, on: session) }
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
