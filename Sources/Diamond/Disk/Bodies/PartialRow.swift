import DiamondSQLite
import Foundation

/// The row of a partial entry, as whoever writes its body knows it.
struct PartialRow: Sendable {
    let id: Int64
    /// As the table holds it, sealed where it is; the headers in clear, the body elsewhere.
    var entry: CacheEntry
    let seal: String?
    /// Whether the first transaction's chunks were shorter compressed: then all are.
    let isCompressed: Bool
    /// Bytes of the chunks that are written, as they are written.
    var bodySize: Int64
    var digest: BodyDigest
    /// What the row held when it was written last. It covers headers, times and body: whoever else writes the row, or
    /// gets its number, changes it.
    var checksum: Int64
}

extension SQLiteError.Code {
    /// The row of a partial entry is another one by now.
    static let entryGone = Self(rawValue: -17)
}

/// Writing a body in pieces, each time so that the row is sound.
extension CacheFile {
    /// Makes the partial entry, in the place of another of its key.
    func begin(
        _ entry: CacheEntry,
        _ chunks: [Data],
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> PartialRow {
        var part = entry
        part.stored.flags.insert(.partial)
        let row = try row(of: part, chunks)
        let id = try CacheTable.store(row, isPartial: true, on: connection)
        var known = row.entry
        known.stored = entry.stored
        return PartialRow(
            id: id, entry: known, seal: row.seal, isCompressed: row.entry.stored.flags.contains(.compressed),
            bodySize: row.body.size, digest: BodyDigest(row.body.checksums), checksum: row.checksum)
    }

    /// Adds chunks behind those that are there.
    ///
    /// - Parameter isInUse: whether more is to come: then eviction takes others first.
    func append(
        _ chunks: [Data],
        to row: PartialRow,
        isInUse: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> PartialRow {
        var row = row
        let before = row.checksum
        try write(chunks, to: &row, on: connection)
        let stored = try seal(&row, isPartial: true)
        guard try CacheTable.update(row, stored, isVisited: isInUse, checksum: before, on: connection) else {
            throw gone()
        }
        return row
    }

    /// Makes a partial entry the entry of its key, with the last of its chunks, and removes the one before.
    ///
    /// - Parameter entry: the headers, times and tags it is stored with.
    func finish(
        _ row: PartialRow,
        as entry: CacheEntry,
        _ chunks: [Data],
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        var row = row
        let before = row.checksum
        try write(chunks, to: &row, on: connection)
        row.entry.stored = entry.stored
        let old = try CacheTable.deleteWhole(row.entry.key, on: connection)
        row.entry.stored.flags.formUnion(old?.intersection(.pinned) ?? [])
        let stored = try seal(&row, isPartial: false)
        // An answer that is replaced was asked for: that counts as use.
        let isUsed = old != nil
        guard
            try CacheTable.update(
                row, stored, isPartial: false, isVisited: isUsed, checksum: before, on: connection)
        else { throw gone() }
        try CacheTable.replaceTags(of: row.id, by: tags(of: entry), on: connection)
    }

    private func write(
        _ chunks: [Data],
        to row: inout PartialRow,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        for chunk in chunks {
            let bytes = try stored(chunk, of: row)
            let checksum = Checksum.digest(of: bytes)
            try CacheTable.putChunk(bytes, checksum, row.digest.count, of: row.id, on: connection)
            row.digest.add(Data(checksum))
            row.bodySize += Int64(bytes.count)
        }
    }

    private func gone() -> SQLiteError {
        SQLiteError(.entryGone, "an entry went while its body was written", path: store.cachePath)
    }
}
