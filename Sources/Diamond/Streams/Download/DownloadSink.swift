public import Foundation

/// A receiver for the body of a download, piece by piece as it comes, instead of a file: a hash, an unpacker, a player.
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
/// time, on no particular thread: ``begin(_:)``, any number of ``write(_:)``, and ``finish()`` when the whole body was
/// taken. If a broken transfer is resumed, more pieces come. If it has to start again, ``begin(_:)`` is called again.
/// The error of the download alone reports its failure: no call comes after that.
///
/// An error that a method throws ends the download, and nothing is sent again. The download's error is `cannotWrite`,
/// with the thrown error as its cause; it is `cancelled` for a `CancellationError`. If the download is canceled or its
/// engine closed, the task of a running call is canceled and not waited for. Later effects of that call are the sink's
/// own concern.
///
/// A body that comes over the wire keeps its place there meanwhile. A request that a sink sends through the same engine
/// needs another place. If there is none, as in a serial lane, the two wait for each other.
public protocol DownloadSink: Sendable {
    /// Begins a response and its body: the sink drops all that it took before. Called at least once, also if the body
    /// is empty; not for redirects and errors.
    ///
    /// - Parameter head: a success (2xx) from a server or from the cache, without its body.
    func begin(_ head: Response) async throws

    /// Takes the next piece of the body, its content coding removed. The wire waits until this returns: for a body of
    /// any size a few mebibytes are in memory.
    ///
    /// - Parameter piece: of any size, but not empty.
    func write(_ piece: Data) async throws

    /// Ends the body, all of which was taken. If this throws, such as for a wrong checksum, the download fails as well.
    /// Does nothing by default.
    func finish() async throws
}

extension DownloadSink {
    public func finish() async throws {}
}
