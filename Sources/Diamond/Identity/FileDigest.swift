import Crypto
import DiamondSQLite
import Foundation

/// Length and SHA-256 of files, read once for as long as they look the same.
enum FileDigest {
    /// What tells that a file is still the one that was read.
    private struct Look: Hashable {
        var path: String
        var size: Int64
        var seconds: Int
        var nanoseconds: Int
        var inode: UInt64
        var device: UInt64

        init?(_ path: String) {
            var status = stat()
            // A device may have no end.
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            #if canImport(Darwin)
            let time = status.st_mtimespec
            #else
            let time = status.st_mtim
            #endif
            self.path = path
            size = Int64(status.st_size)
            (seconds, nanoseconds) = (time.tv_sec, time.tv_nsec)
            (inode, device) = (UInt64(status.st_ino), UInt64(bitPattern: Int64(status.st_dev)))
        }
    }

    private static let known = Guarded<[Look: String]>([:])
    private static let mostKnown = 1024

    /// `LENGTH DIGEST` of a file.
    ///
    /// - Throws: ``RequestError/Code-swift.struct/unreadableFile``.
    static func text(of url: URL) throws(RequestError) -> String {
        guard let look = Look(url.path) else { throw .unreadable(url.path) }
        if let text = known.withLock({ $0[look] }) { return text }
        let text = try read(url.path)
        // Changed while it was read: not remembered.
        guard Look(url.path) == look else { return text }
        known.withLock { known in
            if known.count >= mostKnown { known = [:] }
            known[look] = text
        }
        return text
    }

    private static func read(_ path: String) throws(RequestError) -> String {
        var (digest, length) = (SHA256(), 0)
        do {
            guard let handle = FileHandle(forReadingAtPath: path) else { throw RequestError.unreadable(path) }
            defer { try? handle.close() }
            while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {
                digest.update(data: piece)
                length += piece.count
            }
        } catch {
            throw .unreadable(path)
        }
        return "\(length) \(Hex.text(of: digest.finalize()))"
    }
}
