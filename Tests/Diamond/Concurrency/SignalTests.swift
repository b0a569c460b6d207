import DiamondTestSupport
import DiamondTesting
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(1))) struct `A signal` {
    @Test func `wakes who waits, and counts for the next wait where nobody does`() async {
        let signal = Signal()
        signal.wake()
        signal.wake()
        await signal.wait()
        // Both counted as one.
        async let wait: Void = signal.wait()
        signal.wake()
        await wait
    }

    @Test func `that is never woken ends its wait with the task`() async {
        let signal = Signal()
        let task = Task { await signal.wait() }
        task.cancel()
        await task.value
    }

    @Test func `lets no task wait that was canceled before`() async {
        let signal = Signal()
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await signal.wait()
        }.value
    }

    @Test func `is waited for no longer than a limit`() async {
        let (signal, clock) = (Signal(), TestClock())
        let task = Task { await signal.wait(for: .seconds(2), by: clock) }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .seconds(2))
        await task.value
    }

    @Test func `leaves no timer behind where it was woken in time`() async {
        let (signal, clock) = (Signal(), TestClock())
        signal.wake()
        await signal.wait(for: .seconds(2), by: clock)
        await untilTrue { clock.sleeping.count == 0 }
    }
}
