import DiamondSQLite
import Foundation

/// A lock between processes, held until it is dropped or its process ends.
final class FileLock {
    private let descriptor: Int32

    /// Waits for whoever has it.
    init(_ path: String) throws(SQLiteError) {
        descriptor = open(path, O_CREAT | O_CLOEXEC | O_RDWR, 0o600)
        guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else {
            throw SQLiteError(errno: errno, "cannot be locked", path: path)
        }
    }

    deinit { close(descriptor) }
}
