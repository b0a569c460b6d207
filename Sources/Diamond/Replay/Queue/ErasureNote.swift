import DiamondSQLite
import Foundation

/// A note next to the queue's file that jobs were erased whose bytes may still be in the file. A process that ends before
/// it has overwritten them leaves it to the next one.
final class ErasureNote: Sendable {
    private struct Counts {
        /// The number of times that this process has erased jobs. A full disk may have no space for the note.
        var erased = 0
        /// The number of those that are overwritten.
        var overwritten = 0
    }

    private let path: String
    private let counts = Guarded(Counts())

    init(_ path: String) { self.path = path }

    /// Notes that jobs are about to be erased.
    func note() {
        counts.withLock { $0.erased += 1 }
        guard FileIdentity(path) == nil, let descriptor = try? PrivateFile.open(path, access: O_WRONLY | O_CREAT)
        else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// The erasures to overwrite, for ``clear(_:)``; `nil` if neither this nor another process has erased jobs that are
    /// not overwritten.
    var due: Int? {
        let counts = counts.withLock { $0 }
        return counts.erased > counts.overwritten || FileIdentity(path) != nil ? counts.erased : nil
    }

    /// Notes that erasures are overwritten. The note stays if others came meanwhile.
    func clear(_ due: Int) {
        counts.withLock { counts in
            counts.overwritten = max(counts.overwritten, due)
            if counts.erased == due { unlink(path) }
        }
    }
}
