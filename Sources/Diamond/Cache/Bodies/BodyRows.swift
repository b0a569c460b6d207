import DiamondSQLite
import Foundation

/// The rows of a body, as they are written.
struct BodyRows: Sendable {
    /// Most bodies have one, which takes no memory for itself.
    private enum Content: Sendable {
        case none
        case one(Data)
        case several([(bytes: Data, checksum: Checksum.Digest)])
    }

    private let content: Content
    /// The digest of the whole body.
    let digest: Checksum.Digest

    /// Creates the rows of a body in clear, as it came.
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

    private init(content: Content, digest: Checksum.Digest) { (self.content, self.digest) = (content, digest) }

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

    /// - Parameter body: told a row's number, and a checksum of its own where it is not the only one.
    func forEach(
        _ body: (_ number: Int, _ bytes: Data, Checksum.Digest?) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        switch content {
        case .none: break
        case .one(let bytes): try body(0, bytes, nil)
        case .several(let rows): for (number, row) in rows.enumerated() { try body(number, row.bytes, row.checksum) }
        }
    }
}
