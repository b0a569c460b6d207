import DiamondSQLite
import Foundation

/// The row of a partial entry, as the writer of its body knows it.
struct PartialRow: Sendable {
    let id: Int64
    /// The entry without its body. The request is as in the table, which may be sealed; the headers are in clear.
    var entry: CacheEntry
    let seal: String?
    /// Whether all chunks are compressed. The chunks of the first transaction decide.
    let isCompressed: Bool
    /// The number of bytes written, after compression and sealing.
    var bodySize: Int64
    var checksums: BodyChecksums
    /// The checksum of the row when it was written last. It covers headers, times and body, so that any other writer of
    /// the row, or of another row with its id, changes it.
    var checksum: Int64
}

/// The next chunks of a partial entry, sealed before the transaction that writes them.
struct PreparedChunks: Sendable {
    fileprivate struct Chunk: Sendable {
        let number: Int
        let bytes: Data
    }

    fileprivate let chunks: [Chunk]
    /// The row after they are written.
    fileprivate let row: PartialRow
    /// The entry's fields without its body, as the row holds them after the write.
    fileprivate let stored: StoredResponse
    /// The checksum that the row has before the write.
    fileprivate let checksum: Int64
}

/// Preparing a body that is written in pieces. The row and its checksum are valid after each.
extension CacheCoding {
    /// Returns the row of the partial entry that a body begins with.
    func prepared(_ entry: CacheEntry, chunks: [Data]) throws(CacheError) -> CacheRecord {
        var part = entry
        part.stored.flags.insert(.partial)
        return try record(of: part, chunks: chunks)
    }

    /// Returns chunks prepared to be written after those of a row.
    ///
    /// - Parameter isPartial: whether the entry is still partial with them.
    func prepared(_ chunks: [Data], after row: PartialRow, isPartial: Bool) throws(CacheError) -> PreparedChunks {
        var row = row
        var prepared: [PreparedChunks.Chunk] = []
        let before = row.checksum
        for chunk in chunks {
            let bytes = try stored(chunk, of: row)
            prepared.append(PreparedChunks.Chunk(number: row.checksums.count, bytes: bytes))
            row.checksums.add(bytes)
            row.bodySize += Int64(bytes.count)
        }
        let stored = try seal(&row, isPartial: isPartial)
        return PreparedChunks(chunks: prepared, row: row, stored: stored, checksum: before)
    }
}

/// Writing a body in pieces.
extension CacheFile {
    /// Inserts a partial entry, and removes another of its key.
    ///
    /// - Parameter stored: the entry's fields without its body, in clear.
    func begin(
        _ row: CacheRecord,
        stored: StoredResponse,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> PartialRow {
        guard let id = try CacheTable.store(row, isPartial: true, on: connection) else { throw gone() }
        var known = row.entry
        known.stored = stored
        return PartialRow(
            id: id, entry: known, seal: row.seal, isCompressed: row.entry.stored.flags.contains(.compressed),
            bodySize: row.body.size, checksums: row.body.checksums, checksum: row.checksum)
    }

    /// Appends chunks to a partial entry.
    ///
    /// - Parameter isInUse: whether more chunks will come. Eviction then removes other entries first.
    func append(
        _ next: PreparedChunks,
        isInUse: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> PartialRow {
        try write(next, on: connection)
        let isThere = try CacheTable.update(
            next.row, to: next.stored, isVisited: isInUse, checksum: next.checksum, on: connection)
        guard isThere else { throw gone() }
        return next.row
    }

    /// Appends the last chunks to a partial entry, makes it the entry of its key, and removes the previous entry.
    ///
    /// - Parameter entry: the entry with its tags.
    /// - Returns: the row of the entry.
    func finish(
        _ last: PreparedChunks,
        as entry: CacheEntry,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> PartialRow {
        guard try !CacheTable.hasNewer(than: entry, on: connection) else { throw gone() }
        try write(last, on: connection)
        let old = try CacheTable.deleteWhole(entry.key, on: connection)
        // Neither seal nor checksum covers this flag.
        var stored = last.stored
        stored.flags.formUnion(old?.intersection(.pinned) ?? [])
        // The replaced response was requested, which counts as a use.
        let isUsed = old != nil
        guard
            try CacheTable.update(
                last.row, to: stored, isPartial: false, isVisited: isUsed, checksum: last.checksum, on: connection)
        else { throw gone() }
        try CacheTable.replaceTags(of: last.row.id, by: coding.tags(of: entry), on: connection)
        if try isInvalidated(entry, urlHash: coding.urlHash(of: entry.url), on: connection) {
            _ = try CacheTable.invalidate([last.row.id], on: connection)
        }
        return last.row
    }

    private func write(_ next: PreparedChunks, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        for chunk in next.chunks {
            try CacheTable.putChunk(chunk.bytes, number: chunk.number, of: next.row.id, on: connection)
        }
    }

    private func gone() -> SQLiteError {
        SQLiteError(.entryGone, "an entry was removed while its body was written", path: store.cachePath)
    }
}
