import DiamondSQLite
import Foundation

/// The rows of a body, compressed and sealed if the store does that.
struct BodyRows: Sendable {
    /// The rows. Most bodies have one, which needs no array.
    private enum Content: Sendable {
        case none
        case one(Data)
        case several([Data])
    }

    private let content: Content
    /// The bytes of all rows, also if they were not read.
    let size: Int64
    /// The checksums of the rows.
    let checksums: BodyChecksums

    /// Creates the rows of a body in clear, uncompressed.
    init(_ body: Data) {
        guard body.count <= CacheTable.chunkSize else {
            self.init(chunks: CacheTable.chunks(of: body))
            return
        }
        self.init(body.isEmpty ? .none : .one(body))
    }

    init(chunks: [Data]) {
        if chunks.count > 1 {
            self.init(.several(chunks))
        } else {
            self.init(chunks.first.map(Content.one) ?? .none)
        }
    }

    /// Creates rows that were read, or whose size and checksums were.
    init(_ chunks: [Data], size: Int64, column: Data) {
        content = chunks.count > 1 ? .several(chunks) : chunks.first.map(Content.one) ?? .none
        self.size = size
        checksums = BodyChecksums(column: column)
    }

    private init(_ content: Content) {
        self.content = content
        size =
            switch content {
            case .none: 0
            case .one(let bytes): Int64(bytes.count)
            case .several(let rows): Int64(rows.reduce(0) { $0 + $1.count })
            }
        var checksums = BodyChecksums()
        switch content {
        case .none: break
        case .one(let bytes): checksums.add(bytes)
        case .several(let rows): for bytes in rows { checksums.add(bytes) }
        }
        self.checksums = checksums
    }

    /// The rows.
    var chunks: [Data] {
        switch content {
        case .none: []
        case .one(let bytes): [bytes]
        case .several(let rows): rows
        }
    }

    /// Calls a closure with the number and the bytes of each row.
    func forEach(
        _ body: (_ number: Int, _ bytes: Data) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        switch content {
        case .none: break
        case .one(let bytes): try body(0, bytes)
        case .several(let rows): for (number, bytes) in rows.enumerated() { try body(number, bytes) }
        }
    }
}
