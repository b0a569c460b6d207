import DiamondSQLite

extension CacheFile {
    /// Erases the entries of a selection, in slices. Each slice is a transaction of its own, so that it needs little
    /// space, however much there is to erase. If a slice fails, the earlier ones stay erased.
    ///
    /// - Parameter names: the names in memories; `nil` for anything.
    /// - Returns: the number of erased entries.
    @discardableResult
    func erase(_ selection: CacheSelection, _ names: ChangedNames?) throws(CacheError) -> Int {
        var (count, isLast) = (0, false)
        while !isLast {
            let done = try erasing { (connection) throws(SQLiteError) in
                try CacheTable.addChanges(of: names, on: connection)
                return try CacheTable.deleteSlice(selection, on: connection)
            }
            count += done.count
            isLast = done.isLast
        }
        return count
    }

    /// Runs a transaction that erases something, also on a full disk. If nothing else helps there, it does not
    /// overwrite what it erases. The caller gives back the pages afterwards.
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
                .diskFull, "\(store.cachePath): the disk is full, and has no room to note what is erased: \(remedy)")
        }
    }

    /// Runs a body that may need space on a full disk. If the disk is full, it brings the log into the file and tries
    /// again. If that fails, too, it gives up the ``Reserve`` and tries once more.
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
