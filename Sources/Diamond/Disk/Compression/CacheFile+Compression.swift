import DiamondSQLite
import Foundation

/// Bodies on their way between the form they come in and the compressed one.
extension CacheFile {
    /// An entry with its chunks compressed, where that is asked for and pays.
    func packed(_ entry: CacheEntry, _ chunks: [Data]) -> (entry: CacheEntry, chunks: [Data]) {
        guard compresses, BodyCompression.suits(entry.stored), let packed = BodyCompression.pack(chunks) else {
            return (entry, chunks)
        }
        var entry = entry
        entry.stored.flags.insert(.compressed)
        return (entry, packed)
    }
}

extension CacheTable.Finding {
    /// With the body as it came.
    var unpacked: Self {
        guard case .entry(var stored, let isVisited) = self, stored.flags.contains(.compressed) else { return self }
        guard BodyCompression.isAvailable else { return .locked(.compressed) }
        guard let body = BodyCompression.unpack(stored.body) else {
            return .damaged(reason: "its body is not what was compressed")
        }
        stored.body = body
        stored.flags.remove(.compressed)
        return .entry(stored, isVisited: isVisited)
    }
}
