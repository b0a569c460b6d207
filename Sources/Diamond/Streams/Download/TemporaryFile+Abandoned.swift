import DiamondSQLite
import Foundation

/// Temporary files that killed processes have left.
extension TemporaryFile {
    private static let prefix = ".diamond-"
    private static let suffix = ".part"

    /// Creates a file with a unique name, whose length does not depend on the target's.
    ///
    /// - Returns: the path, and a descriptor that holds the lock of the file.
    static func make(in directory: String) throws -> (path: String, descriptor: Int32) {
        for _ in 0..<3 {
            let path = directory + "/" + prefix + UUID().uuidString + suffix
            let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o666)
            try check(descriptor)
            // A file system without locks gives none to other processes either, so that they do not remove the file.
            let isTaken = flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
            if !isTaken, access(path, F_OK) == 0 { return (path, descriptor) }
            // Another process removed the file before it was locked.
            unlink(path)
            close(descriptor)
        }
        throw POSIXError(.EBUSY)
    }

    private static let swept = Guarded<Set<String>>([])

    /// Removes the temporary files without a lock from a directory. Does so once for each process, because the directory
    /// may hold many files.
    static func removeAbandoned(in directory: String) {
        guard swept.withLock({ $0.insert(directory).inserted }) else { return }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names where isPart(name) { removeIfAbandoned(directory + "/" + name) }
    }

    private static func isPart(_ name: String) -> Bool {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
        return UUID(uuidString: String(name.dropFirst(prefix.count).dropLast(suffix.count))) != nil
    }

    private static func removeIfAbandoned(_ path: String) {
        // The name may be a link or a pipe: the flags avoid following the one and blocking on the other.
        let descriptor = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
    }
}
