import DiamondSQLite

/// What could not be written, and what has to be right on disk before anything else is.
extension CacheWriter {
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
        // The next one may have something of each.
        state.withLock { state in
            let urls = state.untriedInvalidations
            state.failInvalidations(urls.count, keeping: Set(urls))
        }
    }

    func giveUp(_ group: [CacheChange], _ error: CacheError) -> CachePages? {
        activity.report(.cacheFailed(reason: error.message))
        let outdated = outdated(group.map(\.key))
        state.withLock { state in
            state.fail(outdated)
            // Of what is erased once more, they hear with that.
            if group.contains(where: { $0.isForAll && !outdated.contains($0.key) }) { state.tellLater() }
        }
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
        guard state.withLock({ $0.canSettle }) else { return }
        // Erased in a file that has lost its name, they would be forgotten, and found in the one that has it.
        try file.reopenIfReplaced()
        do throws(CacheError) {
            try erase(state.withLock { $0.outdated })
            try tellOthers()
            while try markNext() {}
        } catch {
            failInvalidations()
            throw error
        }
    }

    private func erase(_ outdated: [CacheSelection]) throws(CacheError) {
        guard !outdated.isEmpty else { return }
        for selection in outdated { try file.erase(selection, selection.names(by: file.number)) }
        state.withLock { $0.forgetFailures() }
    }

    /// Of what was made stale and is remembered no longer, that it may be anything.
    private func tellOthers() throws(CacheError) {
        guard state.withLock({ $0.hasToTell }) else { return }
        try file.write { (connection) throws(SQLiteError) in try CacheTable.addChanges(of: nil, on: connection) }
        state.withLock { $0.finishTelling() }
    }

    /// Marks what is stored of some of the URLs.
    ///
    /// - Returns: whether there were any.
    private func markNext() throws(CacheError) -> Bool {
        let urls = state.withLock { $0.beginDueInvalidations() }
        guard !urls.isEmpty else { return false }
        try file.mark(urls: urls)
        state.withLock { $0.finishInvalidations(urls.count) }
        return true
    }

    /// What could not be marked is tried again with what comes next, as far as the disk has something of it: many unsafe
    /// requests on a full disk must not make an end of what is stored of others.
    private func failInvalidations() {
        let urls = state.withLock { $0.beginUntriedInvalidations() }
        let stored = stored(urls)
        state.withLock { $0.failInvalidations(urls.count, keeping: stored) }
    }

    /// Those of some URLs of which the disk has something that is not marked; where that cannot be read, all of them.
    private func stored(_ urls: [String]) -> Set<String> {
        // There is nothing to remember then.
        guard !state.withLock({ $0.isAllOutdated }) else { return [] }
        return (try? file.valid(urls: urls)) ?? Set(urls)
    }

    /// The same for what was made stale behind the last change, and not tried yet.
    func settleNew() {
        guard state.withLock({ $0.hasNewInvalidations }) else { return }
        do throws(CacheError) { try settle() } catch { activity.report(.cacheFailed(reason: error.message)) }
    }
}
