/// The pending changes that a lookup has to take into account, because they are not on disk yet.
struct PendingEntry: Sendable {
    /// The last change of the key.
    let change: CacheChange?
    /// Whether the entry before that change was made stale.
    let wasStale: Bool
    /// Whether the entry that the change leaves was made stale since. If there is no change, the entry on disk is
    /// meant.
    let isStale: Bool

    /// Returns the response of a row as it will be when everything is written.
    func written(onto row: StoredResponse) -> StoredResponse {
        guard case .confirm(let entry, let old) = change?.action else { return marked(row) }
        let row = row.outdated(if: wasStale)
        // Another process may have changed what was confirmed.
        return marked(row.isUnchanged(since: old) ? entry.stored.whole(by: row) : row)
    }

    /// Returns a response that the change leaves as it will be when everything is written.
    func marked(_ stored: StoredResponse) -> StoredResponse { stored.outdated(if: isStale) }
}

extension StoredResponse {
    fileprivate func outdated(if isStale: Bool) -> StoredResponse {
        guard isStale else { return self }
        var outdated = self
        outdated.flags.insert(.invalidated)
        return outdated
    }
}
