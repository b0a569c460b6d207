import DiamondSQLite

/// A call of code of the app in the middle of a request, which may send through the same engine and wait for the answer: what
/// it sends must not wait for the request that waits for it.
final class Hook: Sendable {
    @TaskLocal private static var current: Hook?

    private let isInFlight: Bool
    // A task that the hook has begun may outlive it, and waits for others as everybody does.
    private let isOver = Guarded(false)

    private init(isInFlight: Bool) { self.isInFlight = isInFlight }

    private static var running: Hook? { current.flatMap { hook in hook.isOver.withLock { $0 } ? nil : hook } }

    /// Whether the task runs one: what it sends stands in no serial lane's order.
    static var isRunning: Bool { running != nil }

    /// Whether the task runs one for which an exchange waits that others may share: what it sends shares none.
    static var isInFlight: Bool { running?.isInFlight == true }

    /// - Parameter isInFlight: whether an exchange waits for it that others may share.
    static func run<Value, Failure: Error>(
        isInFlight: Bool = isInFlight,
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let hook = Hook(isInFlight: isInFlight)
        defer { hook.isOver.withLock { $0 = true } }
        return try await $current.withValue(hook) { await Result(body) }.get()
    }
}
