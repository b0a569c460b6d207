import DiamondSQLite
import Foundation

/// The operations of a cache that ``BodyWriter`` uses.
extension Cache {
    /// Runs a transaction after all waiting changes, and then evicts.
    ///
    /// - Parameter key: the key that the transaction writes, so that an earlier failed change of it no longer matters.
    func change<Result: Sendable>(
        removingFailureOf key: RequestKey? = nil,
        _ body: @escaping @Sendable (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) async throws(CacheError) -> Result {
        let file = try file
        let writer = writer
        do {
            return try await writer.alone { () throws(CacheError) in
                let result = try file.write(body)
                if let key { writer.removeFailure(of: key) }
                // Scheduled before the next write of this body, so that eviction and writes alternate.
                writer.scheduleEviction()
                return result
            }
        } catch {
            throw error.code == .entryGone ? .entryGone : error
        }
    }

    /// Erases the row of a partial entry. If that fails, the search for leftovers finds the row later.
    func erase(_ row: PartialRow) async { await erase(row.id, of: row.entry.key, checksum: row.checksum) }

    /// Erases a partial body, unless another writer has changed it.
    func erase(_ body: PartialBody) async {
        await erase(body.outline.id, of: body.outline.key, checksum: body.outline.checksum)
    }

    private func erase(_ id: Int64, of key: RequestKey, checksum: Int64) async {
        _ = try? await change { (connection) throws(SQLiteError) in
            try CacheTable.deletePart(id, of: key, checksum: checksum, on: connection)
        }
    }

    /// Counts and reports a body written in pieces that is now complete on disk.
    func didFinish(_ entry: CacheEntry, size: Int, isReplacing: Bool) {
        // The response in memory is older.
        memory.remove(entry.key)
        let access = CacheAccess(
            prefix: entry.key.prefix,
            bodySize: Int64(size),
            entrySize: Int64(size + entry.stored.headerBlock.count) + CacheAccess.rowSize,
            second: now().second,
            kind: isReplacing ? .replaced : .stored
        )
        writer.count(access, in: now().hour) { $0.stores += 1 }
        activity.report(.stored)
    }
}
