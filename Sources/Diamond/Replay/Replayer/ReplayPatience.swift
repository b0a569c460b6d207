import DiamondSQLite

/// A limit on waiting for work that may itself wait for the disk, by the system's clock.
package struct ReplayPatience: Sendable {
    private let limit: Duration

    package init(_ limit: Duration) { self.limit = limit }

    /// Runs `body`, and waits for its result, also if the task is canceled.
    ///
    /// - Returns: `nil` if the limit was reached first. `body` continues in a task of its own.
    package func wait<Value: Sendable>(for body: @escaping @Sendable () async -> Value) async -> Value? {
        let (signal, result) = (ReplaySignal(), Guarded<Value?>(nil))
        Task {
            let value = await body()
            result.withLock { $0 = value }
            signal.wake()
        }
        // Not by this task, which may be canceled.
        await Task { [limit] in await signal.wait(for: limit, by: ContinuousClock()) }.value
        return result.withLock { $0 }
    }
}
