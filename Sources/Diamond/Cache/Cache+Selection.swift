import DiamondSQLite

/// Erasing entries, and marking them stale.
extension Cache {
    /// Erases the entries of a selection, for every process of the store. No file holds their bytes afterwards, as far
    /// as readers of other processes allow. A damaged file that was set aside goes, too. A response that comes after
    /// the call is not stored if this process asked for it before. It is stored if another process asked for it.
    ///
    /// The call needs little space, however much there is to erase. If it fails, the entries that were erased by then
    /// stay erased.
    ///
    /// - Returns: the number of entries there were.
    @discardableResult
    public func purge(_ selection: CacheSelection = .all) async throws(CacheError) -> Int {
        invalidations.add(selection, isErasure: true)
        // The memory tier last: a lookup beside this may still bring in what it has just read from disk.
        defer { forgetInMemory(selection) }
        let (file, eviction) = (file, eviction)
        return try await removingSetAside { () async throws(CacheError) in
            try await writer.alone { () throws(CacheError) in
                let parts = try file.parts(of: selection)
                try Self.forgetAccesses(of: parts, file)
                let names = selection.names(by: file.number)
                var count = 0
                for part in parts { count += try file.erase(part, names) }
                if selection == .all { try Self.eraseOrphans(in: file) }
                // Also where nothing was there: one before may have erased it, and got no further.
                try eviction.giveBackAll()
                return count
            }
        }
    }

    /// Removes with what is erased the files that were set aside, also one that was just now: it holds what was to be
    /// erased.
    private func removingSetAside(_ erase: () async throws(CacheError) -> Int) async throws(CacheError) -> Int {
        let count: Int
        do throws(CacheError) {
            count = try await erase()
        } catch {
            if error.code == .corrupt { try await removeSetAside() }
            throw error
        }
        try await removeSetAside()
        return count
    }

    @concurrent
    private func removeSetAside() async throws(CacheError) { try file.removeSetAside() }

    private static func forgetAccesses(of parts: [CacheSelection], _ file: CacheFile) throws(CacheError) {
        try file.erasing { (connection) throws(SQLiteError) in
            for part in parts { try CacheTable.deleteAccesses(of: part, on: connection) }
        }
    }

    private static func eraseOrphans(in file: CacheFile) throws(CacheError) {
        var isLast = false
        while !isLast { isLast = try file.erasing(CacheTable.deleteOrphanSlice) }
    }

    /// Marks the entries of a selection stale against every lifetime and `maxAge`, for every process of the store. The
    /// next request asks the server, with the validators that are stored. A response that comes after the call is
    /// stored as stale, too, if this process asked for it before. It is stored as it comes if another process asked for
    /// it.
    ///
    /// If it fails, the entries that were not marked by then stay as they were.
    ///
    /// - Returns: the number of entries that were not marked before.
    @discardableResult
    public func invalidate(_ selection: CacheSelection) async throws(CacheError) -> Int {
        invalidations.add(selection, isErasure: false)
        defer { forgetInMemory(selection) }
        let file = file
        return try await writer.alone { () throws(CacheError) in
            try file.mark(file.parts(of: selection), selection.names(by: file.number))
        }
    }

    /// Marks the entries of some URLs stale, and waits for no disk. The mark holds at once for this process, and soon
    /// for others. It holds for this process even where it cannot be written.
    ///
    /// - Parameter urls: in normal form, as ``CacheSelection/url(_:)`` takes them.
    package func markStale(urls: Set<String>) {
        for url in urls {
            invalidations.addChange(of: url)
            writer.invalidate(url)
        }
        // The memory tier last, as above, and once for all: it looks at each of its slots.
        memory.remove(urls: urls)
    }

    /// Erases the entry under a key, because it is outdated, and waits for no disk. A response that comes later, and
    /// was asked for before the call, is stored as stale.
    package func outdate(_ key: RequestKey) {
        invalidations.add(.key(key), isErasure: false)
        forget(key)
    }

    /// Erases the entries that a predicate picks, for every process of the store. The predicate is called for every
    /// entry: some hundred thousand a second.
    ///
    /// - Returns: the number of entries there were.
    @discardableResult
    public func purge(where predicate: (CacheListing) -> Bool) async throws(CacheError) -> Int {
        try await removingSetAside { () async throws(CacheError) in
            var count = 0
            for picked in try await selections(where: predicate) { count += try await purge(picked) }
            try await forgetInEveryMemory()
            return count
        }
    }

    /// Marks the entries that a predicate picks stale, for every process of the store. The predicate is called for
    /// every entry.
    ///
    /// - Returns: the number of entries that were not marked before.
    @discardableResult
    public func invalidate(where predicate: (CacheListing) -> Bool) async throws(CacheError) -> Int {
        var count = 0
        for picked in try await selections(where: predicate) { count += try await invalidate(picked) }
        try await forgetInEveryMemory()
        return count
    }

    /// Empties the memory of every process. No predicate has seen the entries that are in a memory alone.
    private func forgetInEveryMemory() async throws(CacheError) {
        defer { memory.removeAll() }
        let file = file
        try await writer.alone { () throws(CacheError) in
            try file.write { (connection) throws(SQLiteError) in try CacheTable.addChange(of: nil, on: connection) }
        }
    }

    // In pages, so that no reading transaction stands long in the way of a checkpoint. A partial entry is another one than
    // the whole that stands beside it.
    private func selections(where predicate: (CacheListing) -> Bool) async throws(CacheError) -> [CacheSelection] {
        await flush()
        var (whole, partial): ([RequestKey], [RequestKey]) = ([], [])
        var next: Int64 = 0
        while true {
            let page = try await page(from: next)
            guard let last = page.last else { break }
            let picked = page.filter(predicate)
            whole += picked.lazy.filter { !$0.isPartial }.map(\.key)
            partial += picked.lazy.filter(\.isPartial).map(\.key)
            guard last.id < .max else { break }
            next = last.id + 1
        }
        return CacheSelection.groups(of: whole, isPartial: false) + CacheSelection.groups(of: partial, isPartial: true)
    }

    @concurrent
    private func page(from id: Int64) async throws(CacheError) -> [CacheListing] {
        try file.read { (connection) throws(SQLiteError) in
            try file.opened(CacheTable.list(from: id, limit: 1000, on: connection), on: connection)
        }
    }

    /// Erases one entry; `false` where there was none.
    @discardableResult
    public func purge(_ key: RequestKey) async throws(CacheError) -> Bool { try await purge(.key(key)) > 0 }

    /// Returns the number of entries in a selection.
    ///
    /// - Parameter onlyValid: whether to leave out the entries that are marked stale. The result is then the number
    ///   that ``invalidate(_:)`` would mark.
    package func count(_ selection: CacheSelection, onlyValid: Bool = false) throws(CacheError) -> Int {
        let parts = try file.parts(of: selection)
        return try file.read { (connection) throws(SQLiteError) in
            var count = 0
            for part in parts { count += try CacheTable.count(part, onlyValid: onlyValid, on: connection) }
            return count
        }
    }

    // Where it is not said what it names, others of it come back from disk. A URL by itself: its number is for those who
    // must not know it, and takes a hash of each that is here.
    private func forgetInMemory(_ selection: CacheSelection) {
        if case .url(let url) = selection.content { return memory.remove(urls: [url]) }
        guard let names = selection.names(by: file.number) else { return memory.removeAll() }
        memory.remove(named: names, by: file.number)
    }

    /// Spares an entry from eviction until it is unpinned or erased; `false` where there is none.
    @discardableResult
    public func pin(_ key: RequestKey) async throws(CacheError) -> Bool { try await setPinned(true, key) }

    /// Lets an entry be evicted again; `false` where there is none.
    @discardableResult
    public func unpin(_ key: RequestKey) async throws(CacheError) -> Bool { try await setPinned(false, key) }

    @discardableResult
    package func setPinned(_ isPinned: Bool, _ key: RequestKey) async throws(CacheError) -> Bool {
        let file = file
        return try await writer.alone { () throws(CacheError) in
            try file.write { (connection) throws(SQLiteError) in
                try CacheTable.setPinned(isPinned, key, on: connection)
            }
        } > 0
    }
}
