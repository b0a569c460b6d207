/// A time limit: calls a function when the time is up, unless it is canceled before.
///
/// Whether what is late is canceled, left alone or waited for all the same is up to that function.
package struct Deadline: Sendable {
    private let timer: Task<Void, Never>

    /// Starts the time.
    ///
    /// - Parameters:
    ///   - sleep: throws when the task is canceled.
    ///   - expire: called in a task of its own. It may still be called where ``cancel()`` comes in the same moment.
    init(
        after limit: Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        _ expire: @escaping @Sendable () -> Void
    ) {
        timer = Task { if (try? await sleep(limit)) != nil { expire() } }
    }

    /// Starts the time of a clock.
    init(after limit: Duration, by clock: any Clock<Duration>, _ expire: @escaping @Sendable () -> Void) {
        self.init(after: limit, sleep: { try await clock.sleep(for: $0) }, expire)
    }

    func cancel() { timer.cancel() }
}

extension Deadline {
    /// Runs a body in a task of its own, and waits for its result no longer than a limit; cancellation ends neither.
    ///
    /// - Returns: `nil` where the limit was reached first; the body continues then.
    package static func value<Value: Sendable>(
        within limit: Duration,
        by clock: any Clock<Duration> = ContinuousClock(),
        _ body: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let promise = Promise<Value?>()
        Task { promise.fulfill(with: await body()) }
        let deadline = Deadline(after: limit, by: clock) { promise.fulfill(with: nil) }
        defer { deadline.cancel() }
        return await promise.value()
    }
}
