import DiamondSQLite

extension CacheFile {
    /// Marks the entries of some selections stale, in slices, like ``erase(_:named:)``. It always runs at least one
    /// transaction, because other processes may have the named entries in memory and must be notified.
    ///
    /// - Parameter names: the names of the entries for other processes; `nil` if any entry may have changed.
    /// - Returns: the number of newly marked rows.
    @discardableResult
    func mark(
        _ selections: [CacheSelection],
        named names: ChangedNames?
    ) throws(CacheError) -> CacheRecordCount {
        // In one transaction: a response that another process stores after it finds the change.
        var (rest, count) = try noting { (connection) throws(SQLiteError) in
            try CacheTable.addChanges(of: names, on: connection)
            var ids: [Int64] = []
            for selection in selections { ids += try CacheTable.valid(selection, on: connection) }
            let count = try CacheTable.invalidate(ids.prefix(CacheTable.sliceSize), on: connection)
            return (ids.dropFirst(CacheTable.sliceSize), count)
        }
        while !rest.isEmpty {
            let slice = rest.prefix(CacheTable.sliceSize)
            count += try noting { (connection) throws(SQLiteError) in
                try CacheTable.addChanges(of: names, on: connection)
                return try CacheTable.invalidate(slice, on: connection)
            }
            rest = rest.dropFirst(slice.count)
        }
        return count
    }

    /// Runs a transaction, and notes its changes as those of this process.
    ///
    /// - Parameter isErasure: whether it erases something, as ``erasing(_:)`` does.
    func noting<Result>(
        isErasure: Bool = false,
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(CacheError) -> Result {
        var last = ChangePosition.start
        var newest = last
        func noted(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Result {
            last = try CacheTable.newestChange(on: connection)
            let result = try body(connection)
            newest = try CacheTable.newestChange(on: connection)
            return result
        }
        let result = try isErasure ? erasing(noted) : write(noted)
        ownChanges.add(after: last, upTo: newest)
        return result
    }

    /// Whether another process has marked the URL of an entry stale since its request was sent. A change of any entry
    /// counts, too.
    func isInvalidated(
        _ entry: CacheEntry, urlHash: @autoclosure () -> Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        guard let known = entry.knownChange, try CacheTable.newestChange(on: connection) > known else { return false }
        let changes = try CacheTable.invalidations(of: urlHash(), after: known, on: connection)
        return changes.contains { !ownChanges.contain($0) }
    }

    /// Marks the entries of some URLs stale, and the entries with the same path whose keys leave out a part of the URL
    /// (``CacheEntry/isFoundByOthers``).
    func mark(urls: [String]) throws(CacheError) {
        var parts: [CacheSelection] = []
        for url in urls { parts += try self.parts(changedBy: url) }
        try mark(parts, named: ChangedNames(urls: Set(urls.map(coding.urlHash))))
    }

    /// Returns the URLs that have a stored entry that is not marked stale.
    func valid(urls: [String]) throws(CacheError) -> Set<String> {
        var parts: [(url: String, selection: CacheSelection)] = []
        for url in urls { parts += try self.parts(changedBy: url).map { (url, $0) } }
        return try read { (connection) throws(SQLiteError) in
            var valid: Set<String> = []
            for (url, part) in parts where try CacheTable.count(part, onlyValid: true, on: connection) > 0 {
                valid.insert(url)
            }
            return valid
        }
    }

    private func parts(changedBy url: String) throws(CacheError) -> [CacheSelection] {
        try parts(of: .url(url)) + parts(of: .tag(CacheEntry.name(ofAllLike: url)))
    }
}
