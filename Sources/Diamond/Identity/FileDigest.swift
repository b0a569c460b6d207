import Crypto
import DiamondSQLite
import Foundation

/// Length and SHA-256 of files, read once for as long as they look the same.
enum FileDigest {
    private static let known = Guarded<[FileFingerprint: String]>([:])
    private static let mostKnown = 1024
    /// Seconds after a change in which another one may leave the file's time as it is: the longest step in which file
    /// systems count, that of FAT.
    private static let tick = 2.0

    /// `LENGTH DIGEST` of a file.
    ///
    /// - Throws: ``RequestError/Code-swift.struct/unreadableFile``.
    static func text(of url: URL, now: Date = Date()) throws(RequestError) -> String {
        guard let look = FileFingerprint(url.path) else { throw .unreadable(url.path) }
        if let text = known.withLock({ $0[look] }) { return text }
        let text = try read(url.path)
        // Changed while it was read, or so lately that it may change again unseen: not remembered.
        guard FileFingerprint(url.path) == look, now.timeIntervalSince(look.modified) > tick else { return text }
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
