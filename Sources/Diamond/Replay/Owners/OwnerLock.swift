import DiamondSQLite
import Foundation

/// A lock on a file of its own that a process holds as long as it lives: whoever can take it knows that it has died.
///
/// The kernel lets go of it whatever ends the process, in containers and sandboxes too, where nobody may ask for other
/// processes by their numbers.
final class OwnerLock: Sendable {
    private let descriptor: Int32
    private let path: String

    /// - Parameter name: fresh.
    init(_ name: String, in directory: URL) throws(ReplayError) {
        path = directory.appendingPathComponent(name).path
        descriptor = open(path, O_CREAT | O_EXCL | O_CLOEXEC | O_RDWR, 0o600)
        guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw ReplayError(SQLiteError(errno: errno, "the queue's lock cannot be made", path: path))
        }
    }

    deinit {
        // In this order: who finds the file without the lock takes its owner for dead, which it is as good as.
        unlink(path)
        close(descriptor)
    }

    /// Whether nobody holds the lock any more.
    static func isFree(_ name: String, in directory: URL) -> Bool {
        // To read only: who watches the directory for what ends is told of the end of those who write.
        let descriptor = open(directory.appendingPathComponent(name).path, O_CLOEXEC | O_RDONLY)
        guard descriptor >= 0 else { return errno == ENOENT }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    /// Takes a dead owner's file away.
    static func remove(_ name: String, in directory: URL) {
        unlink(directory.appendingPathComponent(name).path)
    }
}
