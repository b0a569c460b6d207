import DiamondSQLite

/// The snapshots of the activity as it changes: ``Activity/changes``.
public struct ActivityChanges: AsyncSequence, Sendable {
    public typealias Element = ActivitySnapshot
    public typealias Failure = Never

    public struct AsyncIterator: AsyncIteratorProtocol {
        // The activity itself is not kept: the sequence ends with it.
        private let state: Guarded<ActivityState>
        private var seen: Int?

        fileprivate init(_ state: Guarded<ActivityState>) { self.state = state }

        public mutating func next() async -> ActivitySnapshot? {
            if let seen, await !state.wait(for: .change(since: seen)) { return nil }
            let (version, snapshot) = state.withLock { ($0.version, $0.ledger.snapshot) }
            seen = version
            return snapshot
        }
    }

    let state: Guarded<ActivityState>

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(state) }
}
