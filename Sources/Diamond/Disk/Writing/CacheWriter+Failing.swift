import DiamondSQLite

/// What could not be written, and what has to be right on disk before anything else is.
extension CacheWriter {
    /// URLs whose entries are marked at a time.
    private static let markedURLs = 64

    /// What waits has no file: that which is open has another name now, or none. Whatever the next one has under the keys
    /// may be older.
    func loseWaiting(_ error: CacheError) {
        activity.report(.cacheFailed(reason: error.message))
        while let group = nextGroup() {
            state.withLock { state in
                state.fail(group.map(\.key))
                state.finish(group)
            }
        }
    }

    func giveUp(_ group: [CacheChange], _ error: CacheError) -> CachePages? {
        activity.report(.cacheFailed(reason: error.message))
        let outdated = outdated(group.map(\.key))
        state.withLock { $0.fail(outdated) }
        return nil
    }

    /// Those of some keys that the disk has something under; where that cannot be read, all of them.
    private func outdated(_ keys: [RequestKey]) -> [RequestKey] {
        // There is nothing to remember then.
        guard !state.withLock({ $0.isAllOutdated }) else { return [] }
        let known = try? file.read { (connection) throws(SQLiteError) in
            var known: [RequestKey] = []
            for key in keys where try CacheTable.has(key, on: connection) { known.append(key) }
            return known
        }
        return known ?? keys
    }

    /// Erases what is older than what could not be written, and marks what is stale. Before anything is written: that may
    /// be a newer answer in the place of one of them.
    func settle() throws(CacheError) {
        let (outdated, urls) = state.withLock { ($0.outdated, $0.dueInvalidations) }
        guard !outdated.isEmpty || !urls.isEmpty else { return }
        var rest = urls[...]
        do throws(CacheError) {
            // Erased in a file that has lost its name, they would be forgotten, and found in the one that has it.
            try file.reopenIfReplaced()
            try erase(outdated)
            while !rest.isEmpty { rest = try mark(rest) }
        } catch {
            state.withLock { $0.failInvalidations(rest.count) }
            throw error
        }
    }

    private func erase(_ outdated: [CacheSelection]) throws(CacheError) {
        guard !outdated.isEmpty else { return }
        for selection in outdated { try file.erase(selection, selection.names(by: file.number)) }
        state.withLock { $0.forgetFailures() }
    }

    /// Marks what is stored of some of the URLs.
    ///
    /// - Returns: the others.
    private func mark(_ urls: ArraySlice<String>) throws(CacheError) -> ArraySlice<String> {
        let some = urls.prefix(Self.markedURLs)
        try file.mark(urls: Array(some))
        state.withLock { $0.finishInvalidations(some.count) }
        return urls.dropFirst(some.count)
    }

    /// The same for what was made stale behind the last change, and not tried yet.
    func settleNew() {
        guard state.withLock({ $0.hasNewInvalidations }) else { return }
        do throws(CacheError) { try settle() } catch { activity.report(.cacheFailed(reason: error.message)) }
    }
}
