import Crypto
import Foundation

extension Checksum {
    /// The flags that the checksum covers: those from the server's response, and those that tell how to read the body.
    /// The other flags are set in many rows at once.
    static let coveredFlags: StoredResponse.Flags = [
        .noCache, .hasValidator, .mustRevalidate, .compressed, .partial, .heuristic, .shared, .variants,
        .forAllUsers, .fixedCoding,
    ]

    /// Returns a checksum of 64 bits over all columns that a hit reads, including the body's digest.
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
        // The lengths delimit the concatenated values.
        let numbers: [Int64] = [
            Int64(request.count), Int64(stored.headerBlock.count), Int64(stored.status), stored.storedAt.rawValue,
            stored.initialAge, stored.lifetime ?? -1, stored.flags.intersection(Self.coveredFlags).rawValue,
            stored.duration, bodySize,
        ]
        numbers.withUnsafeBytes { hash.update(bufferPointer: $0) }
        return hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    }
}
