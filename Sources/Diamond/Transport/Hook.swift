import DiamondSQLite

/// A call of app code during a request. The code may send through the same engine and wait for the response, so its
/// requests must not wait for the request that waits for them.
final class Hook: Sendable {
    @TaskLocal private static var current: Hook?

    private let isInFlight: Bool
    // A task started by the hook may outlive it. Its requests are then treated like any other.
    private let isOver = Guarded(false)

    private init(isInFlight: Bool) { self.isInFlight = isInFlight }

    private static var running: Hook? { current.flatMap { hook in hook.isOver.withLock { $0 } ? nil : hook } }

    /// Whether the task runs a hook. Its requests skip the order of serial lanes.
    static var isRunning: Bool { running != nil }

    /// Whether the task runs a hook that a shared exchange waits for. Its requests share no exchange.
    static var isInFlight: Bool { running?.isInFlight == true }

    /// - Parameter isInFlight: whether a shared exchange waits for the hook.
    static func run<Value, Failure: Error>(
        isInFlight: Bool = isInFlight,
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let hook = Hook(isInFlight: isInFlight)
        defer { hook.isOver.withLock { $0 = true } }
        return try await $current.withValue(hook) { await Result(body) }.get()
    }
}

extension Result {
    /// Creates a result from the value that an asynchronous body returns, or the error that it throws.
    init(_ body: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
