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
        let deadline: Instant
        /// Whether the deadline was reached. It is `false` if the task was canceled.
        let waiter: Promise<Bool>
    }

    private struct State {
        var now = Instant()
        var sleepers: [Int: Sleeper] = [:]
        var count = 0
        /// The callers of ``nextSleep()`` that wait for a task to sleep.
        var watchers: [ObjectIdentifier: Promise<Duration>] = [:]

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
        let watcher = Promise<Duration>()
        let shortest = state.withLock { state in
            if state.shortest == nil { state.watchers[watcher.id] = watcher }
            return state.shortest
        }
        if let shortest { return Task.isCancelled ? .zero : shortest }
        defer { state.withLock { $0.watchers[watcher.id] = nil } }
        return await watcher.value { .zero }
    }

    public func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
        try Task.checkCancellation()
        let waiter = Promise<Bool>()
        let number = state.withLock { state -> Int? in
            guard deadline > state.now else { return nil }
            state.count += 1
            state.sleepers[state.count] = Sleeper(deadline: deadline, waiter: waiter)
            return state.count
        }
        guard let number else { return }
        tellWatchers()
        let isReached = await waiter.value { [state] in
            state.withLock { $0.sleepers[number] = nil }
            return false
        }
        if !isReached { throw CancellationError() }
    }

    private func tellWatchers() {
        let (shortest, watchers) = state.withLock { state in
            guard let shortest = state.shortest else { return (Duration.zero, [Promise<Duration>]()) }
            defer { state.watchers = [:] }
            return (shortest, Array(state.watchers.values))
        }
        for watcher in watchers { watcher.fulfill(with: shortest) }
    }

    /// Advances the clock, and wakes the tasks whose deadlines are reached, in the order of their deadlines.
    public func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
                .sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
            return due.compactMap { state.sleepers.removeValue(forKey: $0.key) }
        }
        for sleeper in woken { sleeper.waiter.fulfill(with: true) }
    }
}
