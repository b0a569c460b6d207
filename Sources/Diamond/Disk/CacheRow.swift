import Foundation

/// An entry as the tables hold it: in clear, or sealed.
struct CacheRow {
    /// Texts and bytes in the form that is written; the body is in the chunks.
    var entry: CacheEntry
    /// The name of the key that sealed it; `nil` in clear.
    let seal: String?
    /// The rows of the body.
    let chunks: [Data]
    let checksums: [Data]
    /// Of the whole body, as it is written.
    let digest: Data

    /// In clear.
    init(_ entry: CacheEntry) { self.init(entry, seal: nil, chunks: CacheTable.chunks(of: entry.stored.body)) }

    init(_ entry: CacheEntry, seal: String?, chunks: [Data]) {
        self.entry = entry
        self.seal = seal
        self.chunks = chunks
        checksums = chunks.map { Checksum.digest(of: $0) }
        digest = Checksum.digest(ofChunks: checksums.isEmpty ? [Checksum.digest(of: Data())] : checksums)
    }

    /// Bytes of the body, as they are written.
    var bodySize: Int64 { Int64(chunks.reduce(0) { $0 + $1.count }) }

    var checksum: Int64 {
        Checksum.row(
            key: entry.key, request: entry.request, stored: entry.stored, bodySize: bodySize, digest: digest)
    }
}
