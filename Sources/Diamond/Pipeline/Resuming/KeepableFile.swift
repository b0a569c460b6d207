import DiamondSQLite
import Foundation

/// A sink that writes a file whose bytes can outlast the process.
protocol KeepableFile: BodySink {
    /// The absolute path of the complete file.
    var target: String { get }
    /// The number of bytes received.
    var size: Int { get }
    /// The row of the file.
    var record: DownloadRecord { get }
    /// The head and the byte count of the response in the file, for a later exchange of the same download.
    var resumeSlot: ResumeSlot { get }

    /// Continues the file of an earlier download instead of its own, which is empty.
    func adopt(_ download: KeptDownload) async -> Adoption

    /// Returns the values by which a row names the file with all bytes received so far.
    ///
    /// - Parameter isSynced: whether the file is synced to the disk before.
    func part(isSynced: Bool) async throws(TransportError) -> ReceivedPart

    /// Gives the file a name that other processes leave. Called when a row has the name: a process that is killed
    /// before leaves no file that nothing names.
    func keep() async throws(TransportError)

    /// Gives a kept file another name, so that no row names it.
    func release() async
}

/// The values by which a row names a file.
struct ReceivedPart: Sendable {
    /// The name that the file has when it is kept, the same until it is emptied or released.
    let name: String
    /// The SHA-256 digest of the received bytes; empty if the file is sealed.
    let digest: Data
    /// The id of sealed contents; empty in clear.
    let contentID: String
}

/// The result of ``KeepableFile/adopt(_:)``.
enum Adoption {
    /// The file is continued after this number of bytes, at least 1.
    case adopted(size: Int)
    /// Another download writes the file, or its seal cannot open it now.
    case inUse
    /// The file is missing, too short, not one that Diamond has written, or its bytes have changed since.
    case unusable
}

/// The row of a file that is being downloaded. The recorder sets it, and it is removed when the file is published or
/// discarded.
final class DownloadRecord: Sendable {
    private struct State {
        var row: KeptDownload?
        var cache: Cache?
        var isClosed = false
    }

    private let state = Guarded(State())

    /// The row; `nil` if the received bytes are not recorded.
    var row: KeptDownload? { state.withLock { $0.row } }

    /// Whether the store still has the row. It may have been erased.
    var isNamed: Bool {
        let (row, cache) = state.withLock { ($0.row, $0.cache) }
        guard let row, let cache else { return false }
        return cache.has(row)
    }

    /// Sets the row. After ``close()``, removes it instead.
    func set(_ row: KeptDownload, in cache: Cache) {
        let isClosed = state.withLock { state in
            guard !state.isClosed else { return true }
            state.row = row
            state.cache = cache
            return false
        }
        if isClosed { cache.removeRecord(of: row) }
    }

    /// Removes the row.
    func clear() {
        let (row, cache) = state.withLock { state in
            defer { state.row = nil }
            return (state.row, state.cache)
        }
        if let row { cache?.removeRecord(of: row) }
    }

    /// Removes the row. From now on there is none.
    func close() {
        state.withLock { $0.isClosed = true }
        clear()
    }
}
