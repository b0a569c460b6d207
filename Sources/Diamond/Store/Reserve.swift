import Foundation

/// Space on the disk that a cache sets aside for erasing: SQLite writes into its log what it deletes, and on a full disk the
/// log cannot grow.
struct Reserve {
    /// More than a log holds before it is brought into the file, which it makes as much longer.
    static let size: Int64 = 12 << 20
    /// The part of a capacity that it takes at most.
    private static let largestPart: Int64 = 16

    private let path: String

    init(of store: Store) { path = store.reservePath }

    /// Sets the space aside if that has not been done. If the disk has no room, there is no reserve.
    ///
    /// - Parameter capacity: the capacity of the cache.
    func make(for capacity: Int64) {
        let size = min(Self.size, capacity / Self.largestPart)
        var found = stat()
        if lstat(path, &found) == 0 {
            // Whoever made it smaller has a smaller capacity, or was killed on the way.
            guard Int64(found.st_size) < size, unlink(path) == 0 else { return }
        }
        let descriptor = open(path, O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_WRONLY, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if !Self.allocate(size, in: descriptor) { unlink(path) }
    }

    private static func allocate(_ size: Int64, in descriptor: Int32) -> Bool {
        #if canImport(Darwin)
        var store = fstore_t(
            fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0, fst_length: off_t(size),
            fst_bytesalloc: 0)
        return fcntl(descriptor, F_PREALLOCATE, &store) == 0 && ftruncate(descriptor, off_t(size)) == 0
        #else
        return posix_fallocate(descriptor, 0, off_t(size)) == 0
        #endif
    }

    /// Gives the space back to the disk.
    ///
    /// - Returns: whether there was any.
    func release() -> Bool { unlink(path) == 0 }
}
