import DiamondSQLite
import Foundation

/// A note next to the queue's file that jobs were erased whose bytes may still be in the file. A process that ends before
/// it has overwritten them leaves it to the next one.
final class ErasureNote: Sendable {
    private let path: String
    /// Whether this process has erased jobs since. A full disk may have no space for the note.
    private let isOwn = Guarded(false)

    init(_ path: String) { self.path = path }

    /// Notes that jobs are about to be erased.
    func note() {
        isOwn.withLock { $0 = true }
        guard FileIdentity(path) == nil, let descriptor = try? PrivateFile.open(path, access: O_WRONLY | O_CREAT)
        else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// Whether this or another process has erased jobs that are not overwritten.
    var isOverwriteDue: Bool { isOwn.withLock { $0 } || FileIdentity(path) != nil }

    /// Notes that they are overwritten.
    func clear() {
        isOwn.withLock { $0 = false }
        unlink(path)
    }
}
