import DiamondSQLite

/// Loading what a server has stored, before lookups that cannot wait.
extension Cache {
    /// Loads everything that is stored under a request key from a server into memory, and keeps it until the result is
    /// released. It takes at most 50 milliseconds.
    ///
    /// - Returns: `nil` if nothing was loaded: because nothing is stored, the server is out of reach, entries were
    ///   removed meanwhile, or the storage is a file, which needs no loading.
    func load(_ key: RequestKey) async -> LoadedEntries.Use? {
        guard let loaded, let remote = storage as? RemoteCacheStorage else { return nil }
        // Always: a poll by the lookup that follows would otherwise find changes that are older than what is loaded, and
        // remove it.
        applyOtherProcessesChanges(isDue: true)
        let changes = loaded.changes
        let entries = await remote.load(key).compactMap(entry)
        guard !entries.isEmpty, let use = loaded.add(entries, since: changes) else { return nil }
        for entry in entries {
            guard case .miss(let memoryChanges) = memory.find(entry.key, request: entry.request) else { continue }
            // A removal removes from the loaded entries first, then from memory.
            guard !loaded.hasRemoved(entry.key, since: changes) else { continue }
            memory.storeIfUnchanged(
                entry.stored, under: entry.key, request: entry.request, url: entry.url, since: memoryChanges)
        }
        return use
    }

    private func entry(of record: CacheRecord) -> LoadedEntries.Entry? {
        let coding = storage.coding
        let result = coding.opened(record, for: nil)
        guard case .entry(var stored, _) = result, let request = coding.request(of: record) else {
            handle(result, of: record.key)
            return nil
        }
        stored.readHeaders()
        return LoadedEntries.Entry(key: record.key, request: request.form, url: request.url, stored: stored)
    }
}
