#if AsyncHTTPClient
public import AsyncHTTPClient

/// The transport over async-http-client, for servers that already use it: trait `AsyncHTTPClient`, off by default.
///
/// Connections are kept alive and shared. HTTP/2 is used if TLS negotiates it. If a connection ends before a byte of
/// the response, a request with an idempotent method is repeated once, unless its body is a stream. Any other request
/// fails with `connectionLost`. A request whose stream the server refuses counts as not sent (RFC 9113 section 8.7).
///
/// With a client of its own, bodies coded with `gzip` or `deflate` arrive decoded, by the rules of ``Transport``,
/// unless the request sets `Accept-Encoding` itself or requests a range. If a client of the program decompresses,
/// SwiftNIO's rules apply: one member of `gzip`, no bare DEFLATE. If it does not, bodies are not decoded.
///
/// The limits of async-http-client, and so of this transport:
///
/// - A byte of a field that is not UTF-8 arrives as U+FFFD.
/// - A head with a folded line, with a blank before a colon, or with both a length and chunks fails as `badResponse`.
/// - Bytes on an idle connection close it. async-http-client does not look for them directly before it sends a request.
/// - The extensions of chunks are limited only with a client of its own.
/// - A head has 256 fields at most, trailers included, each of 80 KiB at most; more fails as `badResponse`.
/// - Trailers are reported only at their end, so that only the request's timeout limits their time.
/// - The connection cannot be chosen: ``TransportRequest/needsNewConnection`` is ignored.
/// - A GOAWAY does not mark a request as unprocessed: it looks like a lost connection.
/// - OPTIONS without a body sends `Content-Length: 0`, and TRACE has no body.
/// - Name lookups wait for one another on one event loop. A long one delays others, but no exchange that has its
///   connection.
public final class HTTPClientTransport: Transport {
    let owner: HTTPClientOwner
    private let exchanges: HTTPClientExchanges

    /// Creates a transport over a client of its own, on a thread of its own, which is closed with the transport.
    /// Connecting takes 5 minutes at most unless the request says otherwise. The client makes up to 64 connections to a
    /// host over HTTP/1.1, uses the system's certificates and TLS 1.2 or later, and has no proxy.
    public convenience init() { self.init(HTTPClientOwner()) }

    /// Creates a transport over a client of the program's, with that client's proxy, certificates, timeouts and pool.
    /// ``close()`` ends the exchanges and leaves the client alone. Close the transport before the client is shut down.
    ///
    /// - Parameters:
    ///   - client: a client with `redirectConfiguration: .disallow`. If it follows redirects, a redirected exchange
    ///     fails with an error that says so.
    ///   - decompresses: whether the client has `decompression: .enabled(limit:)`. Then the transport requests codings,
    ///     and a body is decoded even if the request names its codings itself. Otherwise bodies are not decoded.
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
            await exchange.pendingResponse.outcome { exchanges.start(exchange) }
        } onCancel: {
            exchange.cancel()
        }
        return try outcome.get()
    }

    /// Ends every exchange with `closed`. A client of its own is shut down, which takes a second at most: a name lookup
    /// that lasts longer ends later.
    public func close() async {
        owner.shutDown(exchanges)
        await owner.waitForShutdown()
    }
}
#endif
