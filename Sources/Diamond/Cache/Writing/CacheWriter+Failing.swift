import DiamondSQLite

/// The handling of changes that could not be written. Their outdated entries on disk are erased before anything else is
/// written.
extension CacheWriter {
    /// Drops all waiting changes, because the open file lost its name, and the file at the path cannot be opened.
    /// Entries under their keys in the next file count as outdated.
    func failWaitingChanges(_ error: CacheError) {
        report(error)
        while let group = nextGroup() {
            state.withLock { state in
                state.fail(group.map(\.key))
                state.finish(group)
            }
        }
        // The next file may have entries of every URL.
        state.withLock { state in
            let urls = state.untriedInvalidations
            state.failInvalidations(urls.count, keeping: Set(urls))
        }
    }

    /// Reports that a group could not be written, and remembers its keys.
    func giveUp(_ group: [CacheChange], because error: CacheError) -> CachePages? {
        report(error)
        // A server that answers, but refuses writes, still announces the changes of what it has. Memory must not keep
        // what it does not have.
        if !storage.isLocal, error.code != .unreachable { for change in group { onVanishedEntry(change.key) } }
        let outdated = outdated(group.filter { storage.isLocal || $0.isErasure }.map(\.key))
        state.withLock { state in
            state.fail(outdated)
            // Erasing an outdated entry again notifies the others of it.
            if group.contains(where: { $0.isForAll && !outdated.contains($0.key) }) { state.notifyProcessesLater() }
        }
        return nil
    }

    /// Returns the keys that have an entry on disk; all keys if the file cannot be read.
    private func outdated(_ keys: [RequestKey]) -> [RequestKey] {
        // No key has to be remembered then.
        guard !state.withLock({ $0.isAllOutdated }) else { return [] }
        return (try? storage.stored(among: keys)) ?? keys
    }

    /// Erases the entries on disk whose newer changes could not be written, and marks stale entries. It runs before any
    /// other write, which may store a newer response under one of their keys.
    func reconcile() throws(CacheError) {
        guard state.withLock({ $0.canReconcile }) else { return }
        // If another file is at the path now, its entries have to be erased.
        try storage.prepare()
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
        for selection in outdated {
            try storage.eraseOutdated([selection], announcing: selection.names(by: storage.coding.urlHash))
        }
        state.withLock { $0.removeFailures() }
    }

    /// Notifies other processes that anything may have changed, if it is not known which entries have.
    private func notifyProcesses() throws(CacheError) {
        guard state.withLock({ $0.mustNotifyProcesses }) else { return }
        _ = try storage.invalidate([], announcing: nil)
        state.withLock { $0.finishNotifying() }
    }

    /// Marks the stored entries of some of the URLs.
    ///
    /// - Returns: whether there were any.
    private func markNext() throws(CacheError) -> Bool {
        let urls = state.withLock { $0.beginReadyInvalidations() }
        guard !urls.isEmpty else { return false }
        try storage.invalidate(urls: urls)
        state.withLock { $0.finishInvalidations(urls.count) }
        return true
    }

    /// Keeps the failed invalidations whose URLs have an entry on disk, to try them again with the next changes. The
    /// others are dropped: otherwise many unsafe requests on a full disk would make all entries count as outdated.
    private func failInvalidations() {
        let urls = state.withLock { $0.beginUntriedInvalidations() }
        let stored = stored(urls)
        state.withLock { $0.failInvalidations(urls.count, keeping: stored) }
    }

    /// Returns the URLs that have an unmarked entry on disk; all URLs if the file cannot be read.
    private func stored(_ urls: [String]) -> Set<String> {
        // No URL has to be remembered then.
        guard !state.withLock({ $0.isAllOutdated }) else { return [] }
        return (try? storage.valid(urls: urls)) ?? Set(urls)
    }

    /// Marks the entries of invalidations that came after the last change and were not tried yet.
    func reconcileNewInvalidations() {
        guard state.withLock({ $0.hasNewInvalidations }) else { return }
        do throws(CacheError) { try reconcile() } catch { report(error) }
    }
}
