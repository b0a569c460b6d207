import DiamondSQLite

/// The entries that lookups have loaded from a server, as long as these lookups use them: memory may be too small for
/// them, or have none.
final class LoadedEntries: Sendable {
    /// An entry that was loaded.
    struct Entry: Sendable {
        let key: RequestKey
        let request: [UInt8]
        let url: String
        let stored: StoredResponse
    }

    /// The use of loaded entries by a lookup, until it is released.
    final class Use: Sendable {
        private let keys: [RequestKey]
        private let entries: LoadedEntries

        fileprivate init(of keys: [RequestKey], in entries: LoadedEntries) {
            self.keys = keys
            self.entries = entries
        }

        deinit { entries.release(keys) }
    }

    private struct State {
        var entries: [RequestKey: Entry] = [:]
        /// The number of lookups that use the entry of a key.
        var uses: [RequestKey: Int] = [:]
        /// The number of removals so far.
        var changes = 0
        /// The keys of the latest removals, the newest last.
        var removed: [RequestKey] = []

        /// Returns the keys that were removed after some number of removals; `nil` if all were, or it is not known.
        func removed(since changes: Int) -> Set<RequestKey>? {
            let count = self.changes - changes
            return count <= removed.count ? Set(removed.suffix(count)) : nil
        }
    }

    /// The most removals that are remembered.
    private static let mostRemoved = 1024

    private let state = Guarded(State())

    /// The number of removals so far.
    var changes: Int { state.withLock { $0.changes } }

    /// Whether the entry of a key was removed after some number of removals: what was loaded before is outdated.
    func hasRemoved(_ key: RequestKey, since changes: Int) -> Bool {
        state.withLock { $0.removed(since: changes)?.contains(key) ?? true }
    }

    /// Returns the loaded response to exactly a request.
    func find(_ key: RequestKey, request: [UInt8]) -> StoredResponse? {
        state.withLock { state in state.entries[key].flatMap { $0.request == request ? $0.stored : nil } }
    }

    /// Adds entries for a lookup, except those that were removed since it began. `nil` if none is left.
    func add(_ entries: [Entry], since changes: Int) -> Use? {
        state.withLock { state in
            guard let removed = state.removed(since: changes) else { return nil }
            let entries = entries.filter { !removed.contains($0.key) }
            guard !entries.isEmpty else { return nil }
            for entry in entries {
                state.entries[entry.key] = entry
                state.uses[entry.key, default: 0] += 1
            }
            return Use(of: entries.map(\.key), in: self)
        }
    }

    private func release(_ keys: [RequestKey]) {
        state.withLock { state in
            for key in keys {
                let rest = (state.uses[key] ?? 1) - 1
                state.uses[key] = rest > 0 ? rest : nil
                if rest <= 0 { state.entries[key] = nil }
            }
        }
    }

    func remove(_ key: RequestKey) {
        state.withLock { state in
            state.changes += 1
            if state.removed.count >= Self.mostRemoved { state.removed.removeFirst(Self.mostRemoved / 2) }
            state.removed.append(key)
            state.entries[key] = nil
        }
    }

    func removeAll() {
        state.withLock { state in
            state.changes += 1
            state.removed = []
            state.entries = [:]
        }
    }
}
