import Crypto
public import Foundation

/// The checksums that detect damage of the file, so that only requests that were written are sent.
extension ReplayRow {
    /// Returns the first 64 bits of a digest of a request's bytes.
    public static func digest(of request: Data) -> Int64 { Checksum.digest(of: request).firstBits }

    /// The first 64 bits of a SHA-256 digest of everything that decides what is sent, for which identity, and whether
    /// it may be sent. It includes the digest of the request. It excludes the position in the order of the key, and the
    /// states in which the unique name counts: these decide only when the request is sent.
    public var checksum: Int64 {
        var hash = SHA256()
        let texts = [identity, orderingKey, lane, method, reason.description]
        // The lengths separate the texts.
        let numbers: [Int64] = [
            id, isStrict ? 1 : 0, isIdempotent ? 1 : 0, keyLifetime ?? .min, (expiresAt ?? .min).rawValue,
            Int64(attemptLimit), digest, Int64(state.rawValue), isHeld ? 1 : 0, runAt.rawValue, Int64(attempts), token,
            owner ?? .min, (sentAt ?? .min).rawValue, (unknownSince ?? .min).rawValue, serverMayHaveActed ? 1 : 0,
            uniqueKey.map { Int64($0.count) } ?? -1,
        ]
        numbers.withUnsafeBytes { hash.update(bufferPointer: $0) }
        for var text in texts {
            let count = Int64(text?.utf8.count ?? -1)
            withUnsafeBytes(of: count) { hash.update(bufferPointer: $0) }
            text?.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        }
        if let uniqueKey { hash.update(data: uniqueKey) }
        return hash.finalize().firstBits
    }
}

extension SHA256.Digest {
    fileprivate var firstBits: Int64 { withUnsafeBytes { $0.loadUnaligned(as: Int64.self) } }
}
