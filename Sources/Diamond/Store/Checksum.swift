import Crypto
import Foundation

/// The checksums of rows, and of bodies before version 4 of the schema: SHA-256. ``BodyChecksums`` are those of bodies.
enum Checksum {
    /// A digest of 32 bytes. It needs no heap memory: every row has one.
    typealias Digest = SHA256.Digest

    static func digest(of bytes: Data) -> Digest { bytes.withUnsafeBytes { digest(of: $0) } }

    static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        var hash = SHA256()
        hash.update(bufferPointer: bytes)
        return hash.finalize()
    }

    /// Returns the digest of a body in chunks, made from the digests of the chunks. The digest of a single chunk is
    /// that of the body.
    static func digest(ofChunks digests: [Data]) -> Data {
        if digests.count == 1 { return digests[0] }
        var hash = SHA256()
        for digest in digests { hash.update(data: digest) }
        return Data(hash.finalize())
    }
}
