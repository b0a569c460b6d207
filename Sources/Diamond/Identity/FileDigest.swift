import Crypto
import DiamondSQLite
import Foundation

/// The length and SHA-256 of files, computed once while their fingerprints stay the same.
enum FileDigest {
    private static let known = Guarded<[FileFingerprint: String]>([:])
    private static let mostKnown = 1024
    /// The seconds within which two changes may have the same modification time: the coarsest resolution of a file
    /// system (FAT).
    private static let tick = 2.0

    /// Returns `LENGTH DIGEST` of a file.
    ///
    /// - Throws: ``RequestError/Code-swift.struct/unreadableFile``.
    static func text(of url: URL, now: Date = Date()) throws(RequestError) -> String {
        guard let fingerprint = FileFingerprint(url.path) else { throw .unreadable(url.path) }
        if let text = known.withLock({ $0[fingerprint] }) { return text }
        let text = try read(url.path)
        // Not cached if the file changed while it was read, or so recently that another change may go unnoticed.
        guard FileFingerprint(url.path) == fingerprint, now.timeIntervalSince(fingerprint.modified) > tick else {
            return text
        }
        known.withLock { known in
            if known.count >= mostKnown { known = [:] }
            known[fingerprint] = text
        }
        return text
    }

    private static func read(_ path: String) throws(RequestError) -> String {
        var digest = SHA256()
        var length = 0
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
