import Crypto
import DiamondSQLite
import Foundation

/// Length and SHA-256 of files, read once for as long as they look the same.
enum FileDigest {
    private static let known = Guarded<[FileLook: String]>([:])
    private static let mostKnown = 1024

    /// `LENGTH DIGEST` of a file.
    ///
    /// - Throws: ``RequestError/Code-swift.struct/unreadableFile``.
    static func text(of url: URL) throws(RequestError) -> String {
        guard let look = FileLook(url.path) else { throw .unreadable(url.path) }
        if let text = known.withLock({ $0[look] }) { return text }
        let text = try read(url.path)
        // Changed while it was read: not remembered.
        guard FileLook(url.path) == look else { return text }
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
