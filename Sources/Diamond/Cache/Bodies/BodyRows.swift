import DiamondSQLite
import Foundation

/// The rows of a body, compressed and sealed if the store does that.
struct BodyRows: Sendable {
    /// The rows. Most bodies have one, which needs no array.
    private enum Content: Sendable {
        case none
        case one(Data)
        case several([(bytes: Data, checksum: Checksum.Digest)])
    }

    private let content: Content
    /// The digest of the rows as they are written, as ``BodyDigest/value``.
    let digest: Checksum.Digest

    /// Creates the rows of a body in clear, uncompressed.
    init(_ body: Data) {
        guard body.count <= CacheTable.chunkSize else {
            self.init(chunks: CacheTable.chunks(of: body))
            return
        }
        self.init(content: body.isEmpty ? .none : .one(body), digest: Checksum.digest(of: body))
    }

    init(chunks: [Data]) {
        guard chunks.count > 1 else {
            let content = chunks.first.map(Content.one) ?? .none
            self.init(content: content, digest: Checksum.digest(of: chunks.first ?? Data()))
            return
        }
        let rows = chunks.map { (bytes: $0, checksum: Checksum.digest(of: $0)) }
        self.init(content: .several(rows), digest: Checksum.digest(ofChunks: rows.map(\.checksum)))
    }

    private init(content: Content, digest: Checksum.Digest) {
        self.content = content
        self.digest = digest
    }

    var checksums: [Checksum.Digest] {
        switch content {
        case .none: []
        case .one: [digest]
        case .several(let rows): rows.map(\.checksum)
        }
    }

    /// The bytes of all rows.
    var size: Int64 {
        switch content {
        case .none: 0
        case .one(let bytes): Int64(bytes.count)
        case .several(let rows): Int64(rows.reduce(0) { $0 + $1.bytes.count })
        }
    }

    /// Calls a closure with each row.
    ///
    /// - Parameter body: receives the row's number, its bytes and, unless it is the only row, its checksum.
    func forEach(
        _ body: (_ number: Int, _ bytes: Data, _ checksum: Checksum.Digest?) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        switch content {
        case .none: break
        case .one(let bytes): try body(0, bytes, nil)
        case .several(let rows): for (number, row) in rows.enumerated() { try body(number, row.bytes, row.checksum) }
        }
    }
}
