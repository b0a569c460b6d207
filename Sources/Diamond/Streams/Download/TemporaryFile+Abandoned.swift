import DiamondSQLite
import Foundation

/// The files that killed processes leave behind.
extension TemporaryFile {
    private static let (begin, end) = (".diamond-", ".part")

    /// Creates a file with a name of its own, whatever the length of the target's.
    ///
    /// - Returns: its path, and a descriptor that holds its lock.
    static func make(in directory: String) throws -> (path: String, descriptor: Int32) {
        for _ in 0..<3 {
            let path = directory + "/" + begin + UUID().uuidString + end
            let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o666)
            try check(descriptor)
            // Where the disk knows no locks, nobody gets one, and nobody takes it for abandoned.
            let isTaken = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
            if !isTaken, access(path, F_OK) == 0 { return (path, descriptor) }
            // Somebody took it for abandoned before it was locked.
            unlink(path)
            close(descriptor)
        }
        throw POSIXError(.EBUSY)
    }

    private static let swept = Guarded<Set<String>>([])

    /// Removes from a directory what nobody has a lock on; once in a process, because it may hold many files.
    static func removeAbandoned(in directory: String) {
        guard swept.withLock({ $0.insert(directory).inserted }) else { return }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names where isPart(name) { removeIfAbandoned(directory + "/" + name) }
    }

    private static func isPart(_ name: String) -> Bool {
        guard name.hasPrefix(begin), name.hasSuffix(end) else { return false }
        return UUID(uuidString: String(name.dropFirst(begin.count).dropLast(end.count))) != nil
    }

    private static func removeIfAbandoned(_ path: String) {
        // Whatever else has such a name is neither followed nor waited for.
        let descriptor = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
    }
}
