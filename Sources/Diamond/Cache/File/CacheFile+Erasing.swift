import DiamondSQLite

extension CacheFile {
    /// Erases the entries of a selection, in slices. Each slice is a transaction of its own, so that it needs little
    /// space, however much there is to erase. If a slice fails, the earlier ones stay erased.
    ///
    /// - Parameter names: the names of the entries for other processes; `nil` if any entry may have changed.
    /// - Returns: the number of erased rows.
    @discardableResult
    func erase(_ selection: CacheSelection, named names: ChangedNames?) throws(CacheError) -> CacheRecordCount {
        var count = CacheRecordCount()
        var isLast = false
        while !isLast {
            let slice = try noting(isErasure: true) { (connection) throws(SQLiteError) in
                try CacheTable.addChanges(of: names, on: connection)
                return try CacheTable.deleteSlice(selection, on: connection)
            }
            count += slice.count
            isLast = slice.isLast
        }
        return count
    }

    /// Erases the recorded accesses of some selections.
    func deleteAccesses(of selections: [CacheSelection]) throws(CacheError) {
        try erasing { (connection) throws(SQLiteError) in
            for selection in selections { try CacheTable.deleteAccesses(of: selection, on: connection) }
        }
    }

    /// Erases the rows that no entry has.
    func deleteOrphans() throws(CacheError) {
        var isLast = false
        while !isLast { isLast = try erasing(CacheTable.deleteOrphanSlice) }
    }

    /// Runs a transaction that erases something, even on a full disk. As a last resort, it does not overwrite the
    /// erased bytes: the caller vacuums afterwards.
    func erasing<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        do throws(CacheError) {
            return try retryingOnFullDisk { () throws(CacheError) in try write(body) }
        } catch {
            guard error.code == .diskFull else { throw error }
        }
        do throws(CacheError) {
            return try write(overwrites: false, body)
        } catch {
            guard error.code == .diskFull else { throw error }
            let remedy = "free 16 MiB on the disk, or end the programs that use the store and remove the file"
            throw CacheError(
                .diskFull, "\(store.cachePath): the disk is full, and erasing needs space: \(remedy)")
        }
    }

    /// Runs a body that may need disk space. If the disk is full, it checkpoints the write-ahead log and tries again.
    /// If that fails, too, it releases the ``Reserve`` and tries once more.
    func retryingOnFullDisk<Result>(_ body: () throws(CacheError) -> Result) throws(CacheError) -> Result {
        do throws(CacheError) { return try body() } catch { guard error.code == .diskFull else { throw error } }
        database.emptyLog()
        do throws(CacheError) { return try body() } catch {
            guard error.code == .diskFull, Reserve(of: store).release() else { throw error }
        }
        database.emptyLog()
        return try body()
    }
}
