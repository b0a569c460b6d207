public import Foundation

/// What takes the body of a download piece by piece while it comes, instead of a file: a hash, an unpacker, a player.
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
/// ``Engine/download(_:to:limit:progress:)-(_,DownloadSink,_,_)`` calls one after another, never two at the same time,
/// on no particular thread: ``begin(_:)``, any number of ``write(_:)``, and ``finish()`` when all of the body was taken.
/// Where a transfer breaks and is gone on with, more pieces come; where it has to begin anew, ``begin(_:)`` says so. A
/// download that fails is told by its error alone: no call comes after that.
///
/// What one throws ends the download, and nothing is sent again: the error is `cannotWrite`, its cause what was thrown;
/// it is `cancelled` for a `CancellationError`. Where the download is canceled, or its engine closed, the task of a call
/// that is under way is canceled, and not waited for: what it does later is its own affair.
///
/// A body that comes over the wire has its place there meanwhile. What a sink sends through the same engine needs
/// another: where there is none, as in a serial lane, the two wait for each other.
public protocol DownloadSink: Sendable {
    /// An answer begins, and with it its body: what was taken before is of no use. Called once at least, also where the
    /// body is empty; not for redirects and errors.
    ///
    /// - Parameter head: a success (2xx) from a server or from the cache, without its body.
    func begin(_ head: Response) async throws

    /// Takes what comes next of the body, its content coding removed. The wire waits until this returns: of a body of
    /// any size a few mebibytes are in memory.
    ///
    /// - Parameter piece: of any size, but not empty.
    func write(_ piece: Data) async throws

    /// All of the body was taken. Where this throws, such as for a wrong checksum, the download fails as well. Nothing
    /// by default.
    func finish() async throws
}

extension DownloadSink {
    public func finish() async throws {}
}
