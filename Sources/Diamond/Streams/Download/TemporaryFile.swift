import DiamondSQLite
import Foundation

/// A file beside the one it is to become. It is removed where it does not.
///
/// Every call may block, and throws `POSIXError`.
final class TemporaryFile: Sendable {
    private let descriptor: Int32
    private let path: String
    private let write: DownloadFile.Write
    private let isThere = Guarded(true)

    init(for target: String, _ write: @escaping DownloadFile.Write) throws {
        self.write = write
        var isDirectory = ObjCBool(false)
        if FileManager.default.fileExists(atPath: target, isDirectory: &isDirectory), isDirectory.boolValue {
            throw POSIXError(.EISDIR)
        }
        let directory = (target as NSString).deletingLastPathComponent
        // Of its own name, whatever the other's length.
        path = (directory.isEmpty ? "." : directory) + "/.diamond-\(UUID().uuidString).part"
        descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o666)
        try Self.check(descriptor)
    }

    // What it is good for is over, whoever has forgotten it.
    deinit {
        guard descriptor >= 0 else { return }
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
        try Self.check(fsync(descriptor))
        try Self.check(rename(path, target))
        isThere.withLock { $0 = false }
    }

    func remove() {
        let wasThere = isThere.withLock { isThere in
            defer { isThere = false }
            return isThere
        }
        if wasThere { unlink(path) }
    }

    private static func check(_ result: Int32) throws {
        guard result < 0 else { return }
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}
