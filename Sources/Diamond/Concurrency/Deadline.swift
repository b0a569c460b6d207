/// A time limit that calls a function when it expires, unless it is canceled before.
///
/// It stops no work itself: the function has to.
package struct Deadline: Sendable {
    private let timer: Task<Void, Never>

    /// Starts the time limit.
    ///
    /// - Parameters:
    ///   - limit: the time limit.
    ///   - sleep: suspends for a duration, and throws if the task is canceled.
    ///   - expire: called in its own task when the limit expires. It may still be called if ``cancel()`` is called at
    ///     the same moment.
    init(
        after limit: Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        _ expire: @escaping @Sendable () -> Void
    ) {
        timer = Task { if (try? await sleep(limit)) != nil { expire() } }
    }

    /// Starts the time limit with a clock.
    init(after limit: Duration, by clock: any Clock<Duration>, _ expire: @escaping @Sendable () -> Void) {
        self.init(after: limit, sleep: { try await clock.sleep(for: $0) }, expire)
    }

    func cancel() { timer.cancel() }
}

extension Deadline {
    /// Runs a closure in its own task, and waits for its result no longer than a limit. Cancellation ends neither the
    /// closure nor the wait.
    ///
    /// - Returns: The result; `nil` if the limit expired first. The closure then continues.
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
