#if AsyncHTTPClient
public import AsyncHTTPClient

/// The transport over async-http-client, for servers that have it anyway: trait `AsyncHTTPClient`, off by default.
///
/// Connections are kept alive and shared; HTTP/2 is used where TLS negotiates it. A request is repeated, once, only when
/// its connection ends before a byte of the response, and only where its method is idempotent and its body not a stream;
/// any other fails with `connectionLost`. One whose stream the server refuses was never sent (RFC 9113 section 8.7).
///
/// Bodies coded with `gzip` or `deflate` arrive decoded, by the rules of ``Transport``, unless the request sets
/// `Accept-Encoding` itself or asks for a range. A client of the program's that decompresses has SwiftNIO's rules: one member
/// of `gzip`, no bare DEFLATE.
///
/// What async-http-client cannot do, and so this cannot:
///
/// - A byte of a field that is not UTF-8 arrives as U+FFFD.
/// - A head with a folded line fails as `badResponse`.
/// - A head has 256 fields at most, trailers included, each of 80 KiB at most; more fails as `badResponse`.
/// - Trailers are not seen before their end: their time is the request's timeout alone.
/// - Nothing chooses the connection: ``TransportRequest/needsNewConnection`` is not kept.
/// - A GOAWAY does not tell that a request was not looked at: it passes for a lost connection.
/// - OPTIONS without a body says `Content-Length: 0`, and TRACE carries no body.
/// - Lookups of names wait for one another on one event loop: one that lasts holds up others, though no exchange whose
///   connection stands.
public final class HTTPClientTransport: Transport {
    let owner: HTTPClientOwner
    private let exchanges: HTTPClientExchanges

    /// Over a client of its own, on a thread of its own, closed with it. It takes 5 minutes at most to connect unless the
    /// request says otherwise, 64 connections to a host over HTTP/1.1, and the system's certificates; no proxy.
    public convenience init() { self.init(HTTPClientOwner()) }

    /// Over a client of the program's, with its proxy, certificates, timeouts and pool. ``close()`` ends the exchanges
    /// and leaves the client alone; close before the client is shut down.
    ///
    /// - Parameters:
    ///   - client: made with `redirectConfiguration: .disallow`. Where it follows redirects by itself, an exchange that is
    ///     redirected fails and says so.
    ///   - decompresses: whether `client` is made with `decompression: .enabled(limit:)`. Then the transport asks for
    ///     codings, and a body is decoded even when the request names its codings itself. Otherwise bodies are left as
    ///     they come.
    public convenience init(_ client: HTTPClient, decompresses: Bool = false) {
        self.init(HTTPClientOwner(client, decompresses: decompresses))
    }

    private init(_ owner: HTTPClientOwner) {
        self.owner = owner
        exchanges = HTTPClientExchanges()
    }

    deinit { owner.shutDown(exchanges) }

    public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        if let refusal = request.refusal { throw refusal }
        let exchange = HTTPClientExchange(request, owner: owner, exchanges: exchanges)
        let outcome = await withTaskCancellationHandler {
            await exchange.reception.outcome { exchanges.start(exchange) }
        } onCancel: {
            exchange.cancel()
        }
        return try outcome.get()
    }

    /// Ends every exchange with `closed`. A client of its own is shut down, which takes a second at most: a name lookup
    /// that lasts longer ends behind it.
    public func close() async {
        owner.shutDown(exchanges)
        await owner.isShutDown()
    }
}
#endif
