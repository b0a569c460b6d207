import Crypto
import Foundation

/// What guards a row and a body against everything that can happen to a file: SHA-256.
enum Checksum {
    /// 32 bytes.
    static func digest(of bytes: some DataProtocol) -> Data { SHA256.hash(data: bytes).withUnsafeBytes { Data($0) } }

    /// Of a body in chunks, from those of the chunks; one alone stands for itself.
    static func digest(ofChunks digests: [Data]) -> Data {
        digests.count == 1 ? digests[0] : digest(of: Data(digests.joined()))
    }

    /// Those that the server's words make, and what tells how the body is to be read; the app sets the others in many rows
    /// at once.
    static let guarded: StoredResponse.Flags = [.noCache, .hasValidator, .mustRevalidate, .compressed]

    /// 64 bits over everything of an entry that a hit reads, the body's digest included.
    static func row(key: RequestKey, request: [UInt8], stored: StoredResponse, bodySize: Int64, digest: Data) -> Int64 {
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
