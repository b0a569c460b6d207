import DiamondSQLite
import Foundation

/// A lock between processes, held until it is dropped or its process ends.
final class FileLock {
    private let descriptor: Int32

    /// Waits for whoever has it.
    init(_ path: String) throws(SQLiteError) {
        descriptor = open(path, O_CREAT | O_CLOEXEC | O_RDWR, 0o600)
        guard descriptor >= 0, Self.wait(for: descriptor) else {
            throw SQLiteError(errno: errno, "cannot be locked", path: path)
        }
    }

    // A signal is no answer.
    private static func wait(for descriptor: Int32) -> Bool {
        while flock(descriptor, LOCK_EX) != 0 { if errno != EINTR { return false } }
        return true
    }

    deinit {
        // Not by closing alone: a child that was forked meanwhile has it open as well.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
