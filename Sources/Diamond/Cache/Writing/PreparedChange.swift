import DiamondSQLite

/// A change in the form that its transaction writes. It is compressed and sealed before the transaction: inside, other
/// processes would wait until an app's seal returns.
struct PreparedChange {
    enum Action {
        /// Stores an entry in clear, uncompressed.
        case storeInClear(CacheEntry)
        case store(CacheRow)
        /// Confirms an entry in clear.
        case confirm(CacheEntry, replacing: StoredResponse)
        case confirmSealed(SealedRevalidation)
        /// Does nothing: the entry that was to be confirmed is gone.
        case none
        case delete(everywhere: Bool)
    }

    let key: RequestKey
    let action: Action
}

/// The change of a row that is revalidated in a sealed store.
struct SealedRevalidation {
    enum Change {
        /// New headers on the same body.
        case update(StoredResponse, checksum: Int64, tags: Tags)
        /// A new row: the body was sealed with an older key.
        case replace(CacheRow)
    }

    /// The row as it was read.
    let row: CacheTable.SealedRow
    /// The response that was confirmed.
    let old: StoredResponse
    let change: Change
}

extension CacheFile {
    func prepared(_ change: CacheChange) throws(CacheError) -> PreparedChange {
        PreparedChange(key: change.key, action: try prepared(change.action))
    }

    private func prepared(_ action: CacheChange.Action) throws(CacheError) -> PreparedChange.Action {
        switch action {
        case .store(let entry):
            guard !isInClear else { return .storeInClear(entry) }
            return .store(try row(of: entry, chunks: CacheTable.chunks(of: entry.stored.body)))
        case .confirm(let entry, let old):
            guard let sealing else { return .confirm(entry, replacing: old) }
            return try confirmation(of: entry, replacing: old, sealing: sealing).map { .confirmSealed($0) } ?? .none
        case .delete(let everywhere): return .delete(everywhere: everywhere)
        }
    }

    /// - Returns: whether the entry of the change is not in the file as it is in memory: the confirmed one is gone, a
    ///   newer one was stored, or another process has made it stale.
    func write(_ change: PreparedChange, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        switch change.action {
        case .storeInClear(let entry):
            return try !finish(entry, storedAs: CacheTable.store(entry, on: connection), on: connection)
        case .store(let row):
            return try !finish(row.entry, storedAs: CacheTable.store(row, on: connection), on: connection)
        case .confirm(let entry, let old): return try !CacheTable.confirm(entry, replacing: old, on: connection)
        case .confirmSealed(let confirmation): return try !confirm(confirmation, of: change.key, on: connection)
        case .none: return true
        case .delete(let everywhere): try CacheTable.delete(change.key, everywhere: everywhere, on: connection)
        }
        return false
    }

    /// Marks a stored entry stale if another process has changed its URL since it was requested.
    ///
    /// - Parameter id: the row of the entry; `nil` if a newer one is stored.
    /// - Returns: whether the entry is in the file, and not stale.
    private func finish(
        _ entry: CacheEntry, storedAs id: Int64?, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        guard let id else { return false }
        guard try isInvalidated(entry, on: connection) else { return true }
        _ = try CacheTable.invalidate([id], on: connection)
        return false
    }
}
