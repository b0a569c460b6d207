import DiamondSQLite

/// Erasing entries, and marking them stale.
extension Cache {
    /// Erases the entries of a selection, for every process of the store. Their bytes are overwritten in all files,
    /// unless a reader in another process still needs them. Damaged files that were set aside are removed, too. So are
    /// the received parts of downloads into files, except those of running and paused downloads. A selection by tag or
    /// predicate does not include downloads.
    ///
    /// An erasure by identity also erases the sealed entries whose identity this process cannot know: those that its
    /// seal does not open, and those from before the store's secret was lost. In a store without a seal, it then
    /// rewrites the whole file if rows of an identity were erased since the last time, because SQLite leaves copies of
    /// moved rows in the unused space of its pages. That takes some seconds for 256 MiB, and the space of two copies.
    /// Without that space, it erases all entries.
    ///
    /// If this process sent a request before the call, its response is not stored. A response that another process
    /// requested is stored, and stale unless the selection names keys.
    ///
    /// The call needs little disk space, however much it erases. If it fails, the entries erased by then stay erased.
    ///
    /// - Returns: the number of erased responses.
    @discardableResult
    public func purge(_ selection: CacheSelection = .all) async throws(CacheError) -> Int {
        invalidations.add(selection, isErasure: true)
        defer { invalidations.announce(CacheInvalidation(of: [selection], isErasure: true)) }
        // The memory tier last: a concurrent lookup may still store in memory what it has just read from disk.
        defer { removeFromMemory(selection) }
        let storage = storage
        return try await removingSetAside { () async throws(CacheError) in
            try await writer.alone { () throws(CacheError) in
                try storage.erase([selection], announcing: selection.names(by: storage.coding.urlHash)).responses
            }
        }
    }

    /// Erases entries, then removes the files that were set aside. If erasing finds the file damaged and sets it aside,
    /// that file is removed, too: it holds the entries to erase.
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
    private func removeSetAside() async throws(CacheError) { try sqlite?.file.removeSetAside() }

    /// Completes a sign-out whose process ended before it had overwritten what it had erased.
    func completeSignOut() {
        guard let sqlite, sqlite.hasUnfinishedSignOut else { return }
        // Detached, because it outlives the code that opens the cache, whose task-local values are not its own.
        Task.detached { [writer, activity] in
            do throws(CacheError) {
                try await writer.alone { () throws(CacheError) in try sqlite.overwriteErased() }
            } catch {
                activity.report(.cacheFailed(reason: error.message))
            }
        }
    }

    /// Marks the entries of a selection stale, whatever their lifetime and `maxAge`, for every process of the store.
    /// The next request asks the server, with the stored validators.
    ///
    /// If a process sent a request before the call, its response is stored as stale, too. If another process sent it,
    /// and the selection names keys, the response is stored unchanged.
    ///
    /// If the call fails, the entries that were not marked by then stay unmarked.
    ///
    /// - Returns: the number of newly marked responses. A server may mark responses without counting them.
    @discardableResult
    public func invalidate(_ selection: CacheSelection) async throws(CacheError) -> Int {
        defer { invalidations.announce(CacheInvalidation(of: [selection])) }
        return try await mark(selection)
    }

    /// Marks the entries of a selection stale, without telling observers.
    @discardableResult
    func mark(_ selection: CacheSelection) async throws(CacheError) -> Int {
        invalidations.add(selection, isErasure: false)
        defer { removeFromMemory(selection) }
        let storage = storage
        let count = try await writer.alone { () throws(CacheError) in
            try storage.invalidate([selection], announcing: selection.names(by: storage.coding.urlHash))
        }
        // The variants of a key have keys of their own, which only the storage knows.
        if case .key = selection.criterion, count.records > 1 || !count.isComplete { memory.removeAll() }
        return count.responses
    }

    /// Marks the entries of some URLs stale, without waiting for the disk. The mark applies immediately in this
    /// process, and soon in others. In this process it applies even if it cannot be written.
    ///
    /// - Parameter urls: the URLs in normal form, as for ``CacheSelection/url(_:)``.
    package func markStale(urls: Set<String>) {
        for url in urls {
            invalidations.addChange(of: url)
            writer.invalidate(url)
        }
        // The memory tier last, as above, and once for all URLs: each call scans all slots.
        loaded?.removeAll()
        memory.remove(urls: urls)
    }

    /// Erases an outdated entry, without waiting for the disk. If its request was sent again before the call, the
    /// response is stored as stale.
    package func removeOutdated(_ key: RequestKey) {
        invalidations.add(.key(key), isErasure: false)
        forget(key)
    }

    /// Erases the entries that match a predicate, for every process of the store. The predicate is called for every
    /// entry: some hundred thousand a second.
    ///
    /// - Returns: the number of erased entries.
    @discardableResult
    public func purge(where predicate: (CacheListing) -> Bool) async throws(CacheError) -> Int {
        try await removingSetAside { () async throws(CacheError) in
            var count = 0
            for picked in try await selections(where: predicate) { count += try await purge(picked) }
            try await clearMemoryOfAllProcesses()
            return count
        }
    }

    /// Marks the entries that match a predicate stale, for every process of the store. The predicate is called for
    /// every entry.
    ///
    /// - Returns: the number of newly marked entries.
    @discardableResult
    public func invalidate(where predicate: (CacheListing) -> Bool) async throws(CacheError) -> Int {
        var count = 0
        for picked in try await selections(where: predicate) { count += try await invalidate(picked) }
        try await clearMemoryOfAllProcesses()
        return count
    }

    /// Clears the memory tier of every process. The predicate was not called for entries that are only in memory.
    private func clearMemoryOfAllProcesses() async throws(CacheError) {
        defer { memory.removeAll() }
        let storage = storage
        try await writer.alone { () throws(CacheError) in _ = try storage.invalidate([], announcing: nil) }
    }

    // In pages, so that no read transaction delays a checkpoint for long. The partial and the whole entry of one key
    // are different entries.
    private func selections(where predicate: (CacheListing) -> Bool) async throws(CacheError) -> [CacheSelection] {
        await flush()
        var whole: [RequestKey] = []
        var partial: [RequestKey] = []
        var last: CacheListing?
        while true {
            let page = try await page(after: last)
            last = page.last
            guard last != nil else { break }
            let picked = page.filter(predicate)
            whole += picked.lazy.filter { !$0.isPartial }.map(\.key)
            partial += picked.lazy.filter(\.isPartial).map(\.key)
        }
        return CacheSelection.groups(of: whole, isPartial: false) + CacheSelection.groups(of: partial, isPartial: true)
    }

    @concurrent
    private func page(after last: CacheListing?) async throws(CacheError) -> [CacheListing] {
        guard let file = sqlite?.file else {
            let cursor = last.map { CacheCursor(after: $0, by: .newest) }
            return try storage.listings([], by: .newest, after: cursor, limit: 1000)
        }
        guard last?.id != .max else { return [] }
        return try file.read { (connection) throws(SQLiteError) in
            try file.opened(
                CacheTable.list(from: last.map { $0.id + 1 } ?? 0, limit: 1000, on: connection), on: connection)
        }
    }

    /// Returns the number of responses in a selection.
    ///
    /// - Parameter onlyValid: whether to leave out the entries that are marked stale. The result is then the number
    ///   that ``invalidate(_:)`` would mark.
    package func count(_ selection: CacheSelection, onlyValid: Bool = false) throws(CacheError) -> Int {
        try storage.count([selection], onlyValid: onlyValid)
    }

    // If only the file can tell which entries a selection means, memory is cleared: other entries are read from disk
    // again. A URL is compared as text: its number would take a hash of every URL in memory.
    private func removeFromMemory(_ selection: CacheSelection) {
        loaded?.removeAll()
        if case .url(let url) = selection.criterion { return memory.remove(urls: [url]) }
        guard let names = selection.names(by: storage.coding.urlHash) else { return memory.removeAll() }
        memory.remove(named: names, by: storage.coding.urlHash)
    }

    /// Protects an entry from eviction until it is unpinned or erased; `false` if there is none.
    @discardableResult
    public func pin(_ key: RequestKey) async throws(CacheError) -> Bool { try await setPinned(true, for: key) }

    /// Ends the protection of an entry from eviction; `false` if there is none.
    @discardableResult
    public func unpin(_ key: RequestKey) async throws(CacheError) -> Bool { try await setPinned(false, for: key) }

    @discardableResult
    package func setPinned(_ isPinned: Bool, for key: RequestKey) async throws(CacheError) -> Bool {
        let storage = storage
        return try await writer.alone { () throws(CacheError) in try storage.setPinned(isPinned, for: key) }
    }
}
