import Crypto
import DiamondSQLite
import Foundation

/// The rows of an outline as read from the file, before they are verified.
struct OutlineRow {
    private typealias Column = CacheTable.Column

    fileprivate let id: Int64
    fileprivate let isPartial: Bool
    fileprivate let request: Data
    /// The response without its body; `nil` if the row has invalid values.
    fileprivate let stored: StoredResponse?
    fileprivate let bodySize: Int64
    fileprivate let digest: Data
    fileprivate let checksum: Int64
    fileprivate let isVisited: Bool
    fileprivate let seal: String?
    /// The digests of the chunks of an old entry.
    private var digests: [Data] = []
    fileprivate private(set) var sizes: [Int] = []
    private var isInOrder = true

    /// - Parameter isPartial: whether the row's column says that the entry is partial.
    init(row: borrowing SQLiteStatement, isPartial: Bool) {
        self.isPartial = isPartial
        request = row.data(Column.request)
        stored = StoredResponse(row: row)
        bodySize = row.int64(Column.bodySize)
        digest = row.data(Column.bodyDigest)
        checksum = row.int64(Column.checksum)
        seal = row.optionalText(Column.seal)
        isVisited = row.int64(Column.isVisited) != 0 && (seal != nil || !BodyChecksums.isOld(digest))
        id = row.int64(Column.id)
    }

    /// Reads the chunk of a row.
    ///
    /// - Returns: whether there may be another chunk.
    mutating func readChunk(from row: borrowing SQLiteStatement) -> Bool {
        guard !row.isNull(Column.chunk) else { return false }
        isInOrder = isInOrder && row.int64(Column.chunk) == id << CacheTable.chunkBits + Int64(sizes.count)
        if BodyChecksums.isOld(digest) { digests.append(row.data(Column.chunkChecksum)) }
        sizes.append(Int(row.int64(Column.bytes)))
        return true
    }

    /// The result of a verification.
    enum Verification {
        case outline(BodyOutline)
        /// Another result, as a lookup returns it.
        case other(CacheTable.LookupResult)
    }

    /// Returns the outline of the entry, if its rows are sound.
    ///
    /// - Parameter form: the requested canonical form.
    func verified(for key: RequestKey, form: [UInt8], sealing: Sealing?) -> Verification {
        guard let stored, stored.flags.contains(.partial) == isPartial, isInOrder,
            sizes.reduce(0, { $0 &+ $1 }) == Int(bodySize)
        else {
            return .other(.damaged(reason: "its row has invalid values, or its body is incomplete"))
        }
        let own = Checksum.row(
            key: key, request: Array(request), stored: stored, bodySize: bodySize, digest: digest)
        guard own == checksum, let checksums, checksums.count == sizes.count else {
            return .other(.damaged(reason: "its row's checksum is wrong"))
        }
        return BodyOutline(self, of: key, head: stored, checksums: checksums).opened(for: form, with: sealing).readable
    }
}

extension OutlineRow {
    /// The checksums of the chunks; `nil` if they are not those of the body.
    private var checksums: [Data]? {
        guard BodyChecksums.isOld(digest) else { return BodyChecksums.each(in: digest) }
        // A single chunk may have none: it is the digest of the body.
        if digests.count == 1 { return [digest] }
        return Checksum.digest(ofChunks: digests) == digest ? digests : nil
    }
}

extension BodyOutline {
    /// Creates the outline of verified rows.
    fileprivate init(_ row: OutlineRow, of key: RequestKey, head stored: StoredResponse, checksums: [Data]) {
        self.key = key
        self.stored = stored
        self.checksums = checksums
        id = row.id
        isPartial = row.isPartial
        request = row.request
        keyID = row.seal
        isCompressed = stored.flags.contains(.compressed)
        sizes = row.sizes
        digest = row.digest
        checksum = row.checksum
        isVisited = row.isVisited
    }

    fileprivate func opened(for form: [UInt8], with sealing: Sealing?) -> OutlineRow.Verification {
        guard let keyID else {
            if sealing != nil { return .other(.locked(.inClear)) }
            return Array(request) == form ? .outline(self) : .other(.nothing)
        }
        guard let sealing else { return .other(.locked(.sealed(keyID: keyID))) }
        do {
            let row = Sealing.Row(keyID: keyID, request: request, bodySize: Int64(bodySize), digest: digest)
            guard try sealing.open(request: request, keyID: keyID, key: key).form == form else {
                return .other(.nothing)
            }
            var opened = self
            opened.stored.headerBlock = try sealing.openedHeaders(of: stored, row: row, key: key)
            return .outline(opened)
        } catch {
            return .other(.init(error, keyID: keyID))
        }
    }
}

extension OutlineRow.Verification {
    /// The verification with the flags as a lookup returns them. A compressed body is locked for a program that cannot
    /// decompress.
    fileprivate var readable: Self {
        guard case .outline(var outline) = self else { return self }
        guard !outline.isCompressed || BodyCompression.isAvailable else { return .other(.locked(.compressed)) }
        outline.stored.flags.subtract([.compressed, .partial])
        return .outline(outline)
    }
}
