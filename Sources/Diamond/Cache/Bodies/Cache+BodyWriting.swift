import DiamondSQLite
import Foundation

/// The operations that the writer of a body needs of its cache.
extension Cache {
    /// Writes behind everything that waits, and makes room.
    ///
    /// - Parameter key: whose entry is right on disk afterwards, whatever could not be written before.
    func change<Result: Sendable>(
        settling key: RequestKey? = nil,
        _ body: @escaping @Sendable (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) async throws(CacheError) -> Result {
        let (file, writer) = (file, writer)
        do {
            return try await writer.alone { () throws(CacheError) in
                let result = try file.write(body)
                if let key { writer.clearFailure(of: key) }
                // Before the next one of this body: they take turns.
                writer.scheduleEviction()
                return result
            }
        } catch {
            throw error.code == .entryGone ? .entryGone : error
        }
    }

    /// Erases the row of a part. A row that cannot be erased is found by the search for leftovers.
    func erase(_ row: PartialRow) async {
        _ = try? await change { (connection) throws(SQLiteError) in try CacheTable.delete(row, on: connection) }
    }

    /// A body that came in pieces is whole, and on disk.
    func didFinish(_ entry: CacheEntry, size: Int, isReplacing: Bool) {
        // What is there is older.
        memory.remove(entry.key)
        let access = CacheAccess(
            prefix: entry.key.prefix,
            bodySize: Int64(size),
            entrySize: Int64(size + entry.stored.headerBlock.count) + CacheAccess.rowSize,
            second: now() / 1000,
            kind: isReplacing ? .replaced : .stored
        )
        writer.count(access, in: CacheCounts.hour(of: now())) { $0.stores += 1 }
        activity.report(.stored)
    }
}
