import Foundation

/// A lock between processes, held until it is dropped or its process ends.
final class FileLock {
    private let descriptor: Int32

    /// Waits for whoever has it.
    init(_ path: String) throws(CacheError) {
        descriptor = open(path, O_CREAT | O_CLOEXEC | O_RDWR, 0o600)
        guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else {
            let reason = String(cString: strerror(errno))
            throw CacheError(.cannotOpen, "the store's lock \(path) cannot be taken (\(reason)): make it writable")
        }
    }

    deinit { close(descriptor) }
}
