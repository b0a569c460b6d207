#if Curl && canImport(CDiamondCurl)
import DiamondSQLite

/// The transport over the system's libcurl: the default on Linux.
///
/// All exchanges run on one thread, which is started with the first exchange and ends with the transport. Connections
/// are kept alive and shared. HTTP/2 is used if TLS negotiates it. Exchanges over TLS that begin together wait for the
/// first connection to their host, and share it if it speaks HTTP/2.
///
/// An idle connection of HTTP/1 that was closed, or has bytes that no request has asked for, is closed before a request
/// is sent on it, and the request is sent on a new one. If a reused connection ends before a byte of the response, a
/// request with an idempotent method is repeated once, on a new connection, unless its body is a stream. Any other
/// request fails with `connectionLost`. A request with ``TransportRequest/needsNewConnection`` reuses no connection.
/// libcurl before 7.80 offers no such check.
///
/// An upload ends if the server responds with a status of 300 or more before its end. With another status, the response
/// and its bytes are delivered at once, but the end of its body only after that of the upload: libcurl reports the end
/// of both bodies together, and makes no call at the last chunk. With the header `Expect: 100-continue`, a body is
/// sent, and its stream is read, after the server has sent a 100, or after a second.
///
/// Limits of libcurl with HTTP/2:
///
/// - A stream that the server refused (RFC 9113 section 8.7) looks like a lost connection.
/// - A stream that the server reset with `NO_ERROR` looks like the end of a body of unknown length.
/// - Some versions reset the stream of a canceled exchange only with the next exchange on its connection.
/// - A body that its reader does not read takes up to 65 MiB of memory, because the window of a stream is 32 MiB.
///
/// Bodies coded with `gzip` or `deflate` arrive decoded, by the rules of ``Transport``, unless the request sets
/// `Accept-Encoding` itself or requests a range. If a body has no length, no chunks and no content coding, it ends with
/// the connection, and an early end is not noticed.
///
/// A head of more than 256 KiB or 4,000 fields fails as `badResponse`. So do trailers of more than 16 KiB or 100
/// fields, and a head of HTTP/1 that contradicts itself about the end of the body: with different lengths, or with a
/// length and a `Transfer-Encoding` other than `chunked`, `identity` included. Also a head in which one of these fields
/// has a blank before the colon or a folded value, because libcurl does not see it there.
///
/// It supports all ``TransportSettings``. Pins need a TLS library that supports libcurl's `CURLOPT_PINNEDPUBLICKEY`,
/// root certificates of the app need libcurl 7.77.
public final class CurlTransport: Transport {
    private let loop: CurlLoop
    private let settings: TransportSettings
    private let credentials: (any CredentialProvider)?

    /// Creates a transport with the system's certificates, and with proxies from the environment (`https_proxy`,
    /// `no_proxy` …), as in other programs that use libcurl.
    public init() {
        loop = CurlLoop(.standard)
        settings = TransportSettings()
        credentials = nil
    }

    /// Creates a transport with settings.
    ///
    /// - Parameters:
    ///   - settings: the settings of every exchange. The files with root certificates are read once.
    ///   - credentials: the provider of the secrets that the settings name.
    /// - Throws: `badSettings` for settings that cannot be applied, such as a file that cannot be read or an invalid
    ///   URL.
    public init(
        _ settings: TransportSettings,
        credentials: (any CredentialProvider)? = nil
    ) throws(TransportError) {
        loop = CurlLoop(try CurlSettings(settings))
        self.settings = settings
        self.credentials = credentials
    }

    deinit { loop.stop {} }

    /// The executor that runs tasks on the thread of the exchanges, for programs that do little else:
    /// `Task(executorPreference: transport.executor) { … }`.
    ///
    /// Passing a request to that thread and its response back costs two wake-ups, which is more than all other costs
    /// when few requests run at a time. A task on it must not block or compute for long, because every exchange waits
    /// for it. After ``close()`` tasks run on threads of the system.
    public var executor: any TaskExecutor { loop }

    public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let passwords = try await passwords()
        let transfer = CurlTransfer(request, passwords: passwords, loop: loop)
        let outcome = await withTaskCancellationHandler {
            await transfer.pendingResponse.outcome { loop.add(.start(transfer)) }
        } onCancel: {
            transfer.cancel()
        }
        return try outcome.get()
    }

    // A cancellation of the caller ends the wait at once, because the provider may ignore it. Requests that the
    // provider sends must not join an exchange that waits for the provider.
    private func passwords() async throws(TransportError) -> TransportPasswords {
        guard let credentials, settings.namesSecrets else {
            return try await TransportPasswords.resolved(for: settings, from: credentials)
        }
        let passwords = Promise<Result<TransportPasswords, TransportError>>()
        let task = Task { [settings] in
            let outcome = await Hook.run(isInFlight: true) {
                await Result { () async throws(TransportError) in
                    try await TransportPasswords.resolved(for: settings, from: credentials)
                }
            }
            passwords.fulfill(with: outcome)
        }
        defer { task.cancel() }
        return try await passwords.value { .failure(.cancelled(serverMayHaveActed: false)) }.get()
    }

    public func close() async {
        await withCheckedContinuation { waiter in loop.stop { waiter.resume() } }
    }
}
#endif
