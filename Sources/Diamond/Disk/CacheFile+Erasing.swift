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
            let done = try write { (connection) throws(SQLiteError) in
                try CacheTable.addChanges(of: names, on: connection)
                return try CacheTable.deleteSlice(selection, on: connection)
            }
            count += done.count
            isLast = done.isLast
        }
        return count
    }
}
