import Crypto
import Foundation

/// The sums that guard a job against what can happen to a file: what is sent was written by somebody.
extension ReplayRow {
    /// 64 bits over the bytes of a request.
    static func digest(of request: Data) -> Int64 { Checksum.digest(of: request).firstBits }

    /// 64 bits over all that decides what is sent, for whom, and whether it may be sent: the digest of the request included.
    /// The place in its line and the states that its unique name counts in are not: they decide when, not what.
    var checksum: Int64 {
        var hash = SHA256()
        let texts = [identity, orderingKey, lane, method, reason.description]
        // The lengths tell where one ends and the next begins.
        let numbers: [Int64] = [
            id, isStrict ? 1 : 0, isIdempotent ? 1 : 0, keyLifetime ?? .min, expiresAt ?? .min, Int64(attemptLimit),
            digest, Int64(state.rawValue), isHeld ? 1 : 0, runAt, Int64(attempts), token, owner ?? .min, sentAt ?? .min,
            unknownAt ?? .min, mayHaveActed ? 1 : 0, uniqueKey.map { Int64($0.count) } ?? -1,
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
