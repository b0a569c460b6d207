import DiamondSQLite

/// A step in the form that its transaction writes. A revalidation is sealed before the transaction: inside, other
/// processes would wait until an app's seal returns.
enum PreparedStep {
    case plain(CacheStep)
    case confirmSealed(SealedRevalidation, key: RequestKey)
    /// Does nothing: the entry that was to be confirmed is gone.
    case none(key: RequestKey)

    var key: RequestKey {
        switch self {
        case .plain(let step): step.key
        case .confirmSealed(_, let key), .none(let key): key
        }
    }
}

/// The change of a row that is revalidated in a sealed store.
struct SealedRevalidation {
    enum Change {
        /// New headers on the same body.
        case update(StoredResponse, checksum: Int64, tags: Tags)
        /// A new row: the body was sealed with an older key.
        case replace(CacheRecord)
    }

    /// The row as it was read.
    let row: CacheTable.SealedRow
    /// The response that was confirmed.
    let old: StoredResponse
    let change: Change
}

extension CacheFile {
    func prepared(_ step: CacheStep) throws(CacheError) -> PreparedStep {
        guard case .confirm(let confirmation) = step, let sealing else { return .plain(step) }
        let sealed = try self.confirmation(
            of: confirmation.entry, replacing: confirmation.old, sealing: sealing)
        return sealed.map { .confirmSealed($0, key: step.key) } ?? .none(key: step.key)
    }

    /// - Returns: whether the entry of the step is not in the file as it is in memory: the confirmed one is gone, a
    ///   newer one was stored, or another process has made it stale.
    func write(_ step: PreparedStep, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        switch step {
        case .plain(.store(let record)):
            return try !finish(record, storedAs: CacheTable.store(record, on: connection), on: connection)
        case .plain(.confirm(let confirmation)):
            return try !CacheTable.confirm(confirmation.entry, replacing: confirmation.old, on: connection)
        case .plain(.erase(let key, let everywhere)):
            try CacheTable.delete(key, everywhere: everywhere, on: connection)
            return false
        case .confirmSealed(let confirmation, let key): return try !confirm(confirmation, of: key, on: connection)
        case .none: return true
        }
    }

    /// Marks a stored entry stale if another process has changed its URL since it was requested.
    ///
    /// - Parameter id: the row of the entry; `nil` if a newer one is stored.
    /// - Returns: whether the entry is in the file, and not stale.
    private func finish(
        _ record: CacheRecord, storedAs id: Int64?, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        guard let id else { return false }
        guard try isInvalidated(record.entry, urlHash: record.urlHash, on: connection) else { return true }
        _ = try CacheTable.invalidate([id], on: connection)
        return false
    }
}
