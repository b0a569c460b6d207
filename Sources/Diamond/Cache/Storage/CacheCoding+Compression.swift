import DiamondSQLite
import Foundation

/// Compressing and decompressing bodies.
extension CacheCoding {
    /// Returns an entry with its chunks compressed, if compression is on and pays off.
    func packed(_ entry: CacheEntry, chunks: [Data]) -> (entry: CacheEntry, chunks: [Data]) {
        guard compresses, BodyCompression.isCompressible(entry.stored), let packed = BodyCompression.pack(chunks) else {
            return (entry, chunks)
        }
        var entry = entry
        entry.stored.flags.insert(.compressed)
        return (entry, packed)
    }
}

extension CacheTable.LookupResult {
    /// The result with its body decompressed.
    var unpacked: Self {
        guard case .entry(var stored, let isVisited) = self, stored.flags.contains(.compressed) else { return self }
        guard BodyCompression.isAvailable else { return .locked(.compressed) }
        guard let body = BodyCompression.unpack(stored.body) else {
            return .damaged(reason: "its compressed body is damaged")
        }
        stored.body = body
        stored.flags.remove(.compressed)
        return .entry(stored, isVisited: isVisited)
    }
}
