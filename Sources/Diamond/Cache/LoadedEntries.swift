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
    }

    private let state = Guarded(State())

    /// The number of removals so far. What was loaded before the last one may be outdated.
    var changes: Int { state.withLock { $0.changes } }

    /// Returns the loaded response to exactly a request.
    func find(_ key: RequestKey, request: [UInt8]) -> StoredResponse? {
        state.withLock { state in state.entries[key].flatMap { $0.request == request ? $0.stored : nil } }
    }

    /// Adds entries for a lookup, unless one was removed since it began.
    func add(_ entries: [Entry], since changes: Int) -> Use? {
        state.withLock { state in
            guard state.changes == changes else { return nil }
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
            state.entries[key] = nil
        }
    }

    func removeAll() {
        state.withLock { state in
            state.changes += 1
            state.entries = [:]
        }
    }
}
