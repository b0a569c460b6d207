import Foundation

/// An entry as the tables hold it: in clear, or sealed.
struct CacheRow {
    /// The rows of a body, as they are written. Most have one, which takes no memory for itself.
    enum Body {
        case none
        case one(Data)
        case several([(bytes: Data, checksum: Checksum.Digest)])
    }

    /// Texts and bytes in the form that is written; the body is beside it.
    var entry: CacheEntry
    /// The name of the key that sealed it; `nil` in clear.
    let seal: String?
    let body: Body
    /// Of the whole body, as it is written.
    let digest: Checksum.Digest

    /// In clear, as it came.
    init(_ entry: CacheEntry) {
        let body = entry.stored.body
        guard body.count > CacheTable.chunkSize else {
            self.init(entry, seal: nil, body: body.isEmpty ? .none : .one(body), digest: Checksum.digest(of: body))
            return
        }
        self.init(entry, seal: nil, chunks: CacheTable.chunks(of: body))
    }

    init(_ entry: CacheEntry, seal: String?, chunks: [Data]) {
        switch chunks.count {
        case 0: self.init(entry, seal: seal, body: .none, digest: Checksum.digest(of: Data()))
        case 1: self.init(entry, seal: seal, body: .one(chunks[0]), digest: Checksum.digest(of: chunks[0]))
        default:
            let rows = chunks.map { (bytes: $0, checksum: Checksum.digest(of: $0)) }
            self.init(
                entry, seal: seal, body: .several(rows), digest: Checksum.digest(ofChunks: rows.map(\.checksum)))
        }
    }

    private init(_ entry: CacheEntry, seal: String?, body: Body, digest: Checksum.Digest) {
        (self.entry, self.seal, self.body, self.digest) = (entry, seal, body, digest)
    }

    /// Of the rows of the body.
    var checksums: [Checksum.Digest] {
        switch body {
        case .none: []
        case .one: [digest]
        case .several(let rows): rows.map(\.checksum)
        }
    }

    /// Bytes of the body, as they are written.
    var bodySize: Int64 {
        switch body {
        case .none: 0
        case .one(let bytes): Int64(bytes.count)
        case .several(let rows): Int64(rows.reduce(0) { $0 + $1.bytes.count })
        }
    }

    var checksum: Int64 {
        Checksum.row(
            key: entry.key, request: entry.request, stored: entry.stored, bodySize: bodySize, digest: digest)
    }
}
