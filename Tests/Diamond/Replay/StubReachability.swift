import DiamondSQLite

@testable import Diamond

/// A reachability whose state the test sets.
final class StubReachability: Reachability {
    private let isThere: Guarded<Bool>
    private let listeners = Guarded<[AsyncStream<Void>.Continuation]>([])

    init(isReachable: Bool = true) { isThere = Guarded(isReachable) }

    var isReachable: Bool {
        get { isThere.withLock { $0 } }
        set {
            isThere.withLock { $0 = newValue }
            for listener in listeners.withLock({ $0 }) { listener.yield() }
        }
    }

    var changes: AsyncStream<Void> {
        AsyncStream { continuation in listeners.withLock { $0.append(continuation) } }
    }
}
