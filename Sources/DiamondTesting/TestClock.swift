package import Diamond
import DiamondSQLite
public import Foundation

/// A clock that only ``advance(by:)`` advances. This also wakes sleeping tasks.
///
/// ```swift
/// let clock = TestClock()
/// configuration.now = { clock.date }
/// configuration.clock = clock
/// clock.advance(by: .seconds(61))  // a response that was fresh for a minute is stale
///
/// let delay = await clock.nextSleep()  // until a retry waits
/// clock.advance(by: delay)
/// ```
public final class TestClock: Clock {
    /// A point in time of this clock.
    public struct Instant: InstantProtocol {
        var sinceBegin = Swift.Duration.zero

        public func advanced(by duration: Swift.Duration) -> Instant { Instant(sinceBegin: sinceBegin + duration) }
        public func duration(to other: Instant) -> Swift.Duration { other.sinceBegin - sinceBegin }
        public static func < (left: Instant, right: Instant) -> Bool { left.sinceBegin < right.sinceBegin }
    }

    private struct Sleeper {
        var deadline: Instant
        var waiter: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant()
        var sleepers: [Int: Sleeper] = [:]
        var count = 0
        var canceled: Set<Int> = []
        /// The callers of ``nextSleep()`` that wait for a task to sleep, by number.
        var watchers: [Int: CheckedContinuation<Duration, Never>] = [:]

        var shortest: Duration? { sleepers.values.map { now.duration(to: $0.deadline) }.min() }
    }

    private let state = Guarded(State())
    private let begin: Date

    /// Creates a clock.
    ///
    /// - Parameter date: The first value of ``date``. 2026-01-01T00:00:00Z by default.
    public init(date: Date = Date(timeIntervalSince1970: 1_767_225_600)) { begin = date }

    /// The current instant.
    public var now: Instant { state.withLock { $0.now } }
    /// One nanosecond.
    public let minimumResolution = Swift.Duration.nanoseconds(1)

    /// The current date of the clock.
    public var date: Date { begin + TimeInterval(now.sinceBegin / .seconds(1)) }

    /// ``date``, as an engine stores it.
    package var wallTime: WallTime { WallTime(date) }

    /// The time that a queue takes for the machine's.
    package var uptime: Uptime { Uptime(rawValue: wallTime.rawValue) }

    /// The remaining times of the sleeping tasks, the shortest first.
    public var sleeping: [Duration] {
        state.withLock { state in state.sleepers.values.map { state.now.duration(to: $0.deadline) }.sorted() }
    }

    /// Waits until a task sleeps, and returns the remaining time of the sleep that ends first; zero if the calling task
    /// is canceled. Returns at once if a task sleeps already.
    public func nextSleep() async -> Duration {
        let number = nextNumber()
        defer { state.withLock { _ = $0.canceled.remove(number) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { watch($0, as: number) }
        } onCancel: {
            cancel(number)
        }
    }

    private func watch(_ watcher: CheckedContinuation<Duration, Never>, as number: Int) {
        let duration = state.withLock { state -> Duration? in
            if state.canceled.remove(number) != nil { return .zero }
            if let shortest = state.shortest { return shortest }
            state.watchers[number] = watcher
            return nil
        }
        if let duration { watcher.resume(returning: duration) }
    }

    private func nextNumber() -> Int {
        state.withLock { state in
            state.count += 1
            return state.count
        }
    }

    public func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
        let number = nextNumber()
        defer { state.withLock { _ = $0.canceled.remove(number) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in sleep(number, until: deadline, waiter: waiter) }
        } onCancel: {
            cancel(number)
        }
    }

    private func sleep(_ number: Int, until deadline: Instant, waiter: CheckedContinuation<Void, any Error>) {
        let outcome = state.withLock { state -> Result<Void, any Error>? in
            if state.canceled.remove(number) != nil { return .failure(CancellationError()) }
            guard deadline > state.now else { return .success(()) }
            state.sleepers[number] = Sleeper(deadline: deadline, waiter: waiter)
            return nil
        }
        if let outcome { waiter.resume(with: outcome) } else { tellWatchers() }
    }

    private func tellWatchers() {
        let (shortest, watchers) = state.withLock { state in
            guard let shortest = state.shortest else {
                return (Duration.zero, [CheckedContinuation<Duration, Never>]())
            }
            defer { state.watchers.removeAll() }
            return (shortest, Array(state.watchers.values))
        }
        for watcher in watchers { watcher.resume(returning: shortest) }
    }

    private func cancel(_ number: Int) {
        let (sleeper, watcher) = state.withLock { state in
            let found = (state.sleepers.removeValue(forKey: number), state.watchers.removeValue(forKey: number))
            if found.0 == nil, found.1 == nil { state.canceled.insert(number) }
            return found
        }
        sleeper?.waiter.resume(throwing: CancellationError())
        watcher?.resume(returning: .zero)
    }

    /// Advances the clock, and wakes the tasks whose deadlines are reached, in the order of their deadlines.
    public func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
                .sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
            return due.compactMap { state.sleepers.removeValue(forKey: $0.key) }
        }
        for sleeper in woken { sleeper.waiter.resume() }
    }
}
