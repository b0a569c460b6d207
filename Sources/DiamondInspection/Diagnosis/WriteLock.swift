import Diamond
import Foundation

/// The lock that a process takes to write a SQLite file in WAL mode, and the process that holds it. A process that is
/// stopped in a transaction holds the lock until it continues or ends, and no other process can write.
package struct WriteLock: Hashable, Sendable {
    /// The file.
    package var path: String
    /// The number of the process; 0 for one of another container.
    package var process: Int32

    /// The byte of the WAL index that is locked (https://sqlite.org/walformat.html#wal_locks).
    private static let lockByte: off_t = 120

    /// Finds the process that holds the lock now; `nil` if none does. This process itself is not found.
    ///
    /// Call it only in a process that does not have the file open: closing the index releases all its locks on the
    /// file.
    package init?(of path: String) {
        let descriptor = open(path + "-shm", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = Self.lockByte
        lock.l_len = 1
        guard fcntl(descriptor, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return nil }
        self.path = path
        process = max(0, lock.l_pid)
    }

    /// Finds the process that holds the lock for a whole second; `nil` if it was released meanwhile.
    ///
    /// - Parameters:
    ///   - checks: the number of times that the lock is read.
    ///   - sleep: waits between two checks.
    package static func lasting(
        of path: String, checks: Int = 10, sleep: () -> Void = { usleep(100_000) }
    ) -> WriteLock? {
        guard let first = WriteLock(of: path) else { return nil }
        for _ in 1..<checks {
            sleep()
            guard WriteLock(of: path) == first else { return nil }
        }
        return first
    }

    package var problem: CacheDiagnosis.Problem {
        guard process > 0 else {
            return .init(
                what: "a process of another container holds the write lock of \(path), and no other can write",
                remedy: "let it continue, or end it")
        }
        let how = isStopped ? "process \(process), which is stopped," : "process \(process)"
        return .init(
            what: "\(how) holds the write lock of \(path), and no other can write",
            remedy: "'ps -p \(process)' shows it; continue it with 'kill -CONT \(process)', or end it")
    }

    /// Whether a signal or a debugger has stopped the process. Known on Linux only.
    private var isStopped: Bool {
        let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        // The state follows the name, which may contain anything.
        let state = status?.split(separator: ")").last?.split(separator: " ").first
        return state == "T" || state == "t"
    }
}
