import Crypto
import Foundation

/// The checksums of rows and bodies: SHA-256. They guard against everything that can happen to a file.
enum Checksum {
    /// A digest of 32 bytes, without heap memory: every row has one.
    typealias Digest = SHA256.Digest

    static func digest(of bytes: Data) -> Digest { bytes.withUnsafeBytes { digest(of: $0) } }

    static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        var hash = SHA256()
        hash.update(bufferPointer: bytes)
        return hash.finalize()
    }

    /// Returns the digest of a body in chunks, made from the digests of the chunks. The digest of a single chunk is
    /// that of the body.
    static func digest(ofChunks digests: [Digest]) -> Digest {
        if digests.count == 1 { return digests[0] }
        var hash = SHA256()
        for digest in digests { digest.withUnsafeBytes { hash.update(bufferPointer: $0) } }
        return hash.finalize()
    }

    /// The flags that the checksum covers: those from the server's response, and those that tell how to read the body.
    /// The app sets the other flags in many rows at once.
    static let guarded: StoredResponse.Flags = [.noCache, .hasValidator, .mustRevalidate, .compressed, .partial]

    /// Returns a checksum of 64 bits over everything of an entry that a hit reads, the body's digest included.
    static func row(
        key: RequestKey,
        request: [UInt8],
        stored: StoredResponse,
        bodySize: Int64,
        digest: some ContiguousBytes
    ) -> Int64 {
        var hash = SHA256()
        key.withUnsafeBytes { hash.update(bufferPointer: $0) }
        request.withUnsafeBytes { hash.update(bufferPointer: $0) }
        stored.headerBlock.withUnsafeBytes { hash.update(bufferPointer: $0) }
        digest.withUnsafeBytes { hash.update(bufferPointer: $0) }
        // The lengths tell where one ends and the next begins.
        let numbers: [Int64] = [
            Int64(request.count), Int64(stored.headerBlock.count), Int64(stored.status), stored.storedAt,
            stored.initialAge, stored.lifetime ?? -1, stored.flags.intersection(Self.guarded).rawValue,
            stored.duration, bodySize,
        ]
        numbers.withUnsafeBytes { hash.update(bufferPointer: $0) }
        return hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    }
}
