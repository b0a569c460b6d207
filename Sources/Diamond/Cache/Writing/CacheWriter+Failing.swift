import DiamondSQLite

/// The handling of changes that could not be written. Their outdated entries on disk are erased before anything else is
/// written.
extension CacheWriter {
    /// Gives up all waiting changes, because they have no file: the open file has another name now, or none. The
    /// entries that the next file has under their keys may be older.
    func failWaitingChanges(_ error: CacheError) {
        activity.report(.cacheFailed(reason: error.message))
        while let group = nextGroup() {
            state.withLock { state in
                state.fail(group.map(\.key))
                state.finish(group)
            }
        }
        // The next file may have entries of each URL.
        state.withLock { state in
            let urls = state.untriedInvalidations
            state.failInvalidations(urls.count, keeping: Set(urls))
        }
    }

    /// Reports that a group could not be written, and remembers its keys.
    func giveUp(_ group: [CacheChange], because error: CacheError) -> CachePages? {
        activity.report(.cacheFailed(reason: error.message))
        let outdated = outdated(group.map(\.key))
        state.withLock { state in
            state.fail(outdated)
            // Erasing an outdated entry again notifies the others of it.
            if group.contains(where: { $0.isForAll && !outdated.contains($0.key) }) { state.notifyProcessesLater() }
        }
        return nil
    }

    /// Returns the keys that the disk has an entry under. If that cannot be read, it returns all of them.
    private func outdated(_ keys: [RequestKey]) -> [RequestKey] {
        // Then no single key need be remembered.
        guard !state.withLock({ $0.isAllOutdated }) else { return [] }
        let known = try? file.read { (connection) throws(SQLiteError) in
            var known: [RequestKey] = []
            for key in keys where try CacheTable.has(key, on: connection) { known.append(key) }
            return known
        }
        return known ?? keys
    }

    /// Erases the entries that are older than changes that could not be written, and marks stale entries. This comes
    /// before any write, which may put a newer answer in the place of one of them.
    func reconcile() throws(CacheError) {
        guard state.withLock({ $0.canReconcile }) else { return }
        // If the open file has lost its name, erasing in it would leave the entries in the file that has the name now.
        try file.reopenIfReplaced()
        do throws(CacheError) {
            try erase(state.withLock { $0.outdated })
            try notifyProcesses()
            while try markNext() {}
        } catch {
            failInvalidations()
            throw error
        }
    }

    private func erase(_ outdated: [CacheSelection]) throws(CacheError) {
        guard !outdated.isEmpty else { return }
        for selection in outdated { try file.erase(selection, named: selection.names(by: file.urlHash)) }
        state.withLock { $0.removeFailures() }
    }

    /// Notifies other processes that anything may have changed, if the invalidated entries are no longer remembered.
    private func notifyProcesses() throws(CacheError) {
        guard state.withLock({ $0.mustNotifyProcesses }) else { return }
        try file.write { (connection) throws(SQLiteError) in try CacheTable.addChanges(of: nil, on: connection) }
        state.withLock { $0.finishNotifying() }
    }

    /// Marks the stored entries of some of the URLs.
    ///
    /// - Returns: whether there were any.
    private func markNext() throws(CacheError) -> Bool {
        let urls = state.withLock { $0.beginReadyInvalidations() }
        guard !urls.isEmpty else { return false }
        try file.mark(urls: urls)
        state.withLock { $0.finishInvalidations(urls.count) }
        return true
    }

    /// Keeps the invalidations that could not be marked, if the disk has an entry of theirs, and tries them again with
    /// the next changes. Many unsafe requests on a full disk must not erase the stored entries of other requests.
    private func failInvalidations() {
        let urls = state.withLock { $0.beginUntriedInvalidations() }
        let stored = stored(urls)
        state.withLock { $0.failInvalidations(urls.count, keeping: stored) }
    }

    /// Returns the URLs of which the disk has an entry that is not marked. If that cannot be read, it returns all of
    /// them.
    private func stored(_ urls: [String]) -> Set<String> {
        // Then no single URL need be remembered.
        guard !state.withLock({ $0.isAllOutdated }) else { return [] }
        return (try? file.valid(urls: urls)) ?? Set(urls)
    }

    /// Marks the entries of invalidations that came after the last change and were not tried yet.
    func reconcileNewInvalidations() {
        guard state.withLock({ $0.hasNewInvalidations }) else { return }
        do throws(CacheError) { try reconcile() } catch { activity.report(.cacheFailed(reason: error.message)) }
    }
}
