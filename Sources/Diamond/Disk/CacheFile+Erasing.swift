import DiamondSQLite

extension CacheFile {
    /// Erases what a selection names, in slices, each a transaction of its own: it needs little space, however much there is
    /// to erase. Where it fails, what was erased by then stays erased.
    ///
    /// - Parameter names: what is named in memories; `nil` for anything.
    /// - Returns: how many entries there were.
    @discardableResult
    func erase(_ selection: CacheSelection, _ names: CacheNames?) throws(CacheError) -> Int {
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

    /// Runs a transaction that erases something, also on a full disk: there without writing over what it erases, where all
    /// else does not do. Whoever erases gives back the pages afterwards.
    func erasing<Result>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        do throws(CacheError) {
            return try makingRoom { () throws(CacheError) in try write(body) }
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

    /// Where the disk is full, brings the log into the file, and tries again; then gives up the ``Reserve``, and does so once
    /// more.
    func makingRoom<Result>(_ body: () throws(CacheError) -> Result) throws(CacheError) -> Result {
        do throws(CacheError) { return try body() } catch { guard error.code == .diskFull else { throw error } }
        database.emptyLog()
        do throws(CacheError) { return try body() } catch {
            guard error.code == .diskFull, Reserve(of: store).release() else { throw error }
        }
        database.emptyLog()
        return try body()
    }
}
