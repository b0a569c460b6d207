import DiamondSQLite

/// The sequence of ``Activity/changes``.
struct ActivityChanges: AsyncSequence, Sendable {
    typealias Element = ActivitySnapshot
    typealias Failure = Never

    struct AsyncIterator: AsyncIteratorProtocol {
        // Without a reference to the activity, so that the sequence ends with it.
        private let state: Guarded<ActivityState>
        private var seen: Int?

        init(_ state: Guarded<ActivityState>) { self.state = state }

        mutating func next() async -> ActivitySnapshot? {
            if let seen, await !state.wait(for: .change(since: seen)) { return nil }
            let (version, snapshot) = state.withLock { ($0.version, $0.counters.snapshot) }
            seen = version
            return snapshot
        }
    }

    let state: Guarded<ActivityState>

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(state) }
}
