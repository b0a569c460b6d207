/// What a lookup has to know of what is not on disk yet.
struct PendingAnswer: Sendable {
    /// The last change of the key.
    let change: CacheChange?
    /// Whether what was there before that change has been made stale.
    let wasStale: Bool
    /// Whether what it leaves, or, where there is none, what is on disk, has been made stale since.
    let isStale: Bool

    /// What is on disk, as it is when everything is written.
    func written(onto row: StoredResponse) -> StoredResponse {
        guard case .confirm(let entry, let old) = change?.action else { return marked(row) }
        let row = row.outdated(if: wasStale)
        // Another process may have changed what was confirmed.
        return marked(row.isUnchanged(since: old) ? entry.stored.whole(by: row) : row)
    }

    /// What the change leaves, as it is when everything is written.
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
