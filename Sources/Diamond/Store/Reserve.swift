import Foundation

/// Disk space that a cache reserves for erasing: SQLite writes deletions into its log, which cannot grow on a full
/// disk.
struct Reserve {
    /// The size of the reserve in bytes. It is more than the log takes before a checkpoint. The checkpoint may make the
    /// file grow by as much as the log.
    static let size: Int64 = 12 << 20
    /// The reserve is at most the capacity divided by this.
    private static let largestPart: Int64 = 16

    private let path: String

    init(of store: Store) { path = store.reservePath }

    /// Creates the reserve, unless it exists. If the disk has too little space, there is no reserve.
    ///
    /// - Parameter capacity: the capacity of the cache.
    func make(for capacity: Int64) {
        let size = min(Self.size, capacity / Self.largestPart)
        var found = stat()
        if lstat(path, &found) == 0 {
            // A smaller one belongs to a cache with a smaller capacity, or to a process that died while it created it.
            guard Int64(found.st_size) < size, unlink(path) == 0 else { return }
        }
        let descriptor = open(path, O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_WRONLY, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if !Self.allocate(size, in: descriptor) { unlink(path) }
    }

    /// Allocates the space of a file.
    static func allocate(_ size: Int64, in descriptor: Int32) -> Bool {
        #if canImport(Darwin)
        var store = fstore_t(
            fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0, fst_length: off_t(size),
            fst_bytesalloc: 0)
        return fcntl(descriptor, F_PREALLOCATE, &store) == 0 && ftruncate(descriptor, off_t(size)) == 0
        #else
        return posix_fallocate(descriptor, 0, off_t(size)) == 0
        #endif
    }

    /// Removes the reserve.
    ///
    /// - Returns: whether there was one.
    func release() -> Bool { unlink(path) == 0 }
}
