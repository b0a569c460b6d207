import DiamondSQLite
import Foundation

/// A file beside the one it is to become. It is removed where it does not, and locked for as long as somebody has it:
/// what nobody has locked, a process has left that was killed.
///
/// Every call may block, and throws `POSIXError`.
final class TemporaryFile: Sendable {
    private let descriptor: Int32
    private let directory: String
    private let path: String
    private let write: DownloadFile.Write
    private let isThere = Guarded(true)

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

    // What it is good for is over, whoever has forgotten it.
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

    /// Nothing is at the path that is not whole, also after a crash of the machine.
    func move(to target: String) throws {
        try flush()
        try Self.check(rename(path, target))
        isThere.withLock { $0 = false }
    }

    private func flush() throws {
        #if canImport(Darwin)
        // There, fsync leaves it in the drive's cache, and in no order. Not every file system knows the other.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        try Self.check(fsync(descriptor))
    }

    /// Removes what others have left in the same directory.
    func removeAbandoned() { Self.removeAbandoned(in: directory) }

    func remove() {
        let wasThere = isThere.withLock { isThere in
            defer { isThere = false }
            return isThere
        }
        if wasThere { unlink(path) }
    }

    static func check(_ result: Int32) throws {
        guard result < 0 else { return }
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}
