import DiamondSQLite

/// A clock that stands still until it is moved; who sleeps by it wakes when it has come so far.
package final class SteppingClock: Clock {
    package typealias Duration = Swift.Duration

    package struct Instant: InstantProtocol {
        package typealias Duration = Swift.Duration

        var sinceBegin = Duration.zero

        package func advanced(by duration: Duration) -> Instant { Instant(sinceBegin: sinceBegin + duration) }
        package func duration(to other: Instant) -> Duration { other.sinceBegin - sinceBegin }
        package static func < (left: Instant, right: Instant) -> Bool { left.sinceBegin < right.sinceBegin }
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
    }

    private let state = Guarded(State())

    package init() {}

    package var now: Instant { state.withLock { $0.now } }
    package let minimumResolution = Duration.nanoseconds(1)

    /// How long each of those who sleep has still to sleep, the shortest first.
    package var sleeping: [Duration] {
        state.withLock { state in state.sleepers.values.map { state.now.duration(to: $0.deadline) }.sorted() }
    }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in sleep(number, until: deadline, waiter) }
        } onCancel: {
            cancel(number)
        }
    }

    private func sleep(_ number: Int, until deadline: Instant, _ waiter: CheckedContinuation<Void, any Error>) {
        let outcome = state.withLock { state -> Result<Void, any Error>? in
            if state.canceled.remove(number) != nil { return .failure(CancellationError()) }
            guard deadline > state.now else { return .success(()) }
            state.sleepers[number] = Sleeper(deadline: deadline, waiter: waiter)
            return nil
        }
        if let outcome { waiter.resume(with: outcome) }
    }

    private func cancel(_ number: Int) {
        let sleeper = state.withLock { state in
            if state.sleepers[number] == nil { state.canceled.insert(number) }
            return state.sleepers.removeValue(forKey: number)
        }
        sleeper?.waiter.resume(throwing: CancellationError())
    }

    /// Moves on, and wakes who has slept long enough.
    package func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let numbers = state.sleepers.filter { $0.value.deadline <= state.now }.keys
            return numbers.compactMap { state.sleepers.removeValue(forKey: $0) }
        }
        for sleeper in woken { sleeper.waiter.resume() }
    }
}
