import DiamondSQLite
import Foundation

/// An owner's lock on its own file, held as long as the process lives. Another process that can acquire the lock knows
/// that the owner has died.
///
/// The kernel releases the lock however the process ends. This also works in containers and sandboxes, where a process
/// may not look up others by their process ids.
///
/// A process removes a file only while it holds the lock, and only if the path still names that file. So the file of a
/// living owner stays. If a file is removed before its owner has locked it, the owner creates another one.
final class OwnerLock: Sendable {
    /// The file's name, a fresh UUID.
    let name: String
    private let descriptor: Int32
    private let path: String

    /// The maximum number of files to create until one is locked before another process removes it.
    private static let maximumTries = 100

    init(in directory: URL) throws(ReplayError) {
        for _ in 0..<Self.maximumTries {
            let name = UUID().uuidString
            let path = directory.appendingPathComponent(name).path
            let descriptor = try Self.make(path)
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, FileIdentity(path) == FileIdentity(of: descriptor) {
                self.name = name
                self.path = path
                self.descriptor = descriptor
                return
            }
            let reason = errno
            close(descriptor)
            errno = reason
            guard [EWOULDBLOCK, EINTR, ENOENT].contains(reason) else { throw Self.failure(path) }
        }
        throw Self.failure(directory.path)
    }

    private static func make(_ path: String) throws(ReplayError) -> Int32 {
        do throws(SQLiteError) { return try PrivateFile.open(path, access: O_CREAT | O_EXCL | O_RDWR) } catch {
            throw ReplayError(error)
        }
    }

    private static func failure(_ path: String) -> ReplayError {
        ReplayError(SQLiteError(errno: errno, "the queue's lock cannot be created", path: path))
    }

    deinit {
        // In this order, so that no process finds the file unlocked while this one still counts as its owner.
        unlink(path)
        close(descriptor)
    }

    /// Whether no process holds the lock any more.
    static func isFree(_ name: String, in directory: URL) -> Bool {
        let path = directory.appendingPathComponent(name).path
        guard let descriptor = lock(path) else { return FileIdentity(path) == nil && errno == ENOENT }
        close(descriptor)
        return true
    }

    /// Removes a file if its owner is dead.
    static func remove(_ name: String, in directory: URL) {
        let path = directory.appendingPathComponent(name).path
        guard let descriptor = lock(path) else { return }
        defer { close(descriptor) }
        // Another process may have removed it meanwhile.
        if FileIdentity(path) == FileIdentity(of: descriptor) { unlink(path) }
    }

    /// Removes the files of dead owners from a directory.
    ///
    /// - Parameter names: the names of the files to skip: they have a row, and are removed with it.
    static func removeFree(in directory: URL, except names: Set<String>) {
        let left = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        for name in left where UUID(uuidString: name) != nil && !names.contains(name) { remove(name, in: directory) }
    }

    /// Acquires the lock of a file.
    ///
    /// - Returns: the open descriptor that holds the lock; `nil` if another process holds it, or there is no file.
    private static func lock(_ path: String) -> Int32? {
        // Read-only: processes that watch the directory for the ends of owners are notified when a writer closes a
        // file.
        let descriptor = open(path, PrivateFile.flags | O_RDONLY)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return descriptor }
        close(descriptor)
        return nil
    }
}
