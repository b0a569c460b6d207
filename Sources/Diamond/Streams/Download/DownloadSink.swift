public import Foundation

/// A receiver for the body of a download, instead of a file: a hash, an unpacker, a player.
///
/// ```swift
/// actor Checksum: DownloadSink {
///     private var hash = SHA256()
///     var value: SHA256Digest { hash.finalize() }
///
///     func begin(_ head: Response) { hash = SHA256() }
///     func write(_ piece: Data) { hash.update(data: piece) }
/// }
/// ```
///
/// ``Engine/download(_:to:limit:progress:)-(_,DownloadSink,_,_)`` calls one method after another, never two at the same
/// time, on no particular thread: ``begin(_:)``, any number of ``write(_:)``, and ``finish()`` after the whole body. If
/// a broken transfer is resumed, more pieces come. If it has to start again, ``begin(_:)`` is called again. No call
/// reports a failed transfer: the download throws the error.
///
/// An error that a method throws ends the download, and nothing is sent again. The download's error is `cannotWrite`,
/// with the thrown error as its cause; it is `cancelled` for a `CancellationError`. If the download is canceled or its
/// engine closed, the task of a running call is canceled and not waited for. The sink has to handle later effects of
/// that call itself.
///
/// A body that comes over the wire holds its permit during the calls. A request that a sink sends through the same
/// engine needs another permit. If there is none, as in a serial lane, the two wait for each other.
public protocol DownloadSink: Sendable {
    /// Begins a response and its body: the sink drops everything that it received before. Called at least once, also if
    /// the body is empty; not for redirects and errors.
    ///
    /// - Parameter head: a success (2xx) from a server or from the cache, without its body.
    func begin(_ head: Response) async throws

    /// Receives the next piece of the body, its content coding removed. The transfer waits until this returns, so that
    /// at most a few mebibytes are in memory.
    ///
    /// - Parameter piece: one byte or more.
    func write(_ piece: Data) async throws

    /// Ends the complete body. If this throws, such as for a wrong checksum, the download fails. The default does
    /// nothing.
    func finish() async throws
}

extension DownloadSink {
    public func finish() async throws {}
}
