import DiamondSQLite
import Foundation

/// A temporary file in the directory of its target. It is removed unless it is renamed, and locked while it is open. A file
/// without a lock was left by a killed process.
///
/// Every call may block, and throws `POSIXError`.
final class TemporaryFile: Sendable {
    private let descriptor: Int32
    private let directory: String
    private let path: String
    private let write: DownloadFile.Write
    private let exists = Guarded(true)

    init(for target: String, _ write: @escaping DownloadFile.Write) throws {
        self.write = write
        var isDirectory = ObjCBool(false)
        if FileManager.default.fileExists(atPath: target, isDirectory: &isDirectory), isDirectory.boolValue {
            throw POSIXError(.EISDIR)
        }
        let parent = (target as NSString).deletingLastPathComponent
        directory = parent.isEmpty ? "." : parent
        (path, descriptor) = try Self.make(in: directory)
    }

    deinit {
        remove()
        close(descriptor)
    }

    func empty() throws {
        try Self.check(ftruncate(descriptor, 0))
        try Self.check(Int32(truncatingIfNeeded: min(lseek(descriptor, 0, SEEK_SET), 0)))
    }

    func append(_ piece: Data) throws {
        try piece.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest))
                if count < 0, errno == EINTR { continue }
                try Self.check(count < 0 ? -1 : 0)
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Syncs the file and renames it to its target. Even after a crash of the machine no incomplete file is at that path.
    func move(to target: String) throws {
        try flush()
        try Self.check(rename(path, target))
        exists.withLock { $0 = false }
    }

    private func flush() throws {
        #if canImport(Darwin)
        // There, `fsync` leaves the data in the drive's cache, and may reorder it. Not every file system supports
        // `F_FULLFSYNC`.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        try Self.check(fsync(descriptor))
    }

    /// Removes the files that killed processes have left in the same directory.
    func removeAbandoned() { Self.removeAbandoned(in: directory) }

    func remove() {
        let existed = exists.withLock { exists in
            defer { exists = false }
            return exists
        }
        if existed { unlink(path) }
    }

    static func check(_ result: Int32) throws {
        guard result < 0 else { return }
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}
