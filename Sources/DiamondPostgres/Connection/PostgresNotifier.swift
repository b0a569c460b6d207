#if Postgres && canImport(CDiamondPostgres)
import DiamondSQLite

/// Tells other processes of changes: outside of the transactions that made them, because a NOTIFY makes all commits of the
/// server wait for each other. Changes within a moment are told together.
final class PostgresNotifier: Sendable {
    private struct State {
        var isSending = false
        var isNeeded = false
    }

    private let state = Guarded(State())
    private let interval: Duration
    private let tell: @Sendable () async -> Bool

    /// - Parameters:
    ///   - interval: the shortest time between two calls of `tell`.
    ///   - tell: tells the others. If it returns `false`, it is called again.
    init(every interval: Duration, _ tell: @escaping @Sendable () async -> Bool) {
        self.interval = interval
        self.tell = tell
    }

    func notify() {
        let starts = state.withLock { state in
            state.isNeeded = true
            defer { state.isSending = true }
            return !state.isSending
        }
        if starts { Task { [self] in await send() } }
    }

    private func send() async {
        while state.withLock({ state in
            defer { state.isNeeded = false }
            state.isSending = state.isNeeded
            return state.isNeeded
        }) {
            let isTold = await tell()
            if !isTold { state.withLock { $0.isNeeded = true } }
            try? await ContinuousClock().sleep(for: interval)
        }
    }
}
#endif
