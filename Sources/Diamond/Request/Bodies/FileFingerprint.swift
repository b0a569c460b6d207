import Foundation

/// The attributes that tell whether a file has changed.
struct FileFingerprint: Hashable, Sendable {
    let path: String
    let size: Int64
    private let seconds: Int
    private let nanoseconds: Int
    private let inode: UInt64
    private let device: UInt64

    /// The time of the file's last change.
    var modified: Date { Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1_000_000_000) }

    /// Takes the fingerprint of the file at a path; `nil` if it is not a regular file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(path, status: status)
    }

    /// Takes the fingerprint of an open file, whatever its path leads to now; `nil` if it is not a regular file.
    init?(_ path: String, open handle: FileHandle) {
        var status = stat()
        guard fstat(handle.fileDescriptor, &status) == 0 else { return nil }
        self.init(path, status: status)
    }

    private init?(_ path: String, status: stat) {
        // A device may be endless.
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        self.path = path
        size = Int64(status.st_size)
        seconds = time.tv_sec
        nanoseconds = time.tv_nsec
        inode = UInt64(status.st_ino)
        device = UInt64(bitPattern: Int64(status.st_dev))
    }
}
