/// The pending changes of an entry, which are not on disk yet. A lookup applies them.
struct PendingEntry: Sendable {
    /// The last change of the key.
    let change: CacheChange?
    /// Whether the entry before that change was invalidated.
    let wasStale: Bool
    /// Whether the entry was invalidated after that change. If there is no change, it is about the entry on disk.
    let isStale: Bool

    /// Returns the response of a row with the pending changes applied.
    func written(onto row: StoredResponse) -> StoredResponse {
        guard case .confirm(let entry, let old) = change?.action else { return marked(row) }
        let row = row.outdated(if: wasStale)
        // Another process may have changed the confirmed row.
        return marked(row.isUnchanged(since: old) ? entry.stored.completed(by: row) : row)
    }

    /// Returns the response after the change, marked stale if it was invalidated.
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
