import DiamondSQLite
import Foundation

/// Creating temporary files, and removing those that killed processes have left.
extension TemporaryFile {
    /// Creates a file with a unique name.
    ///
    /// - Returns: the path, and a descriptor that holds the lock of the file.
    static func make(in directory: String) throws -> (path: String, descriptor: Int32) {
        for _ in 0..<3 {
            let path = directory + "/" + PartFile.name(isKept: false)
            let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o666)
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

    /// Removes the temporary files without a lock from a directory. Does so once for each process, because the
    /// directory may hold many files.
    static func removeAbandoned(in directory: String) {
        guard swept.withLock({ $0.insert(directory).inserted }) else { return }
        PartFile.removeAbandoned(in: directory)
    }
}
