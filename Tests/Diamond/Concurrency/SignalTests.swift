import DiamondTestSupport
import DiamondTesting
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(1))) struct `A signal` {
    @Test func `a signal resumes its waiter, and counts for the next wait without one`() async {
        let signal = Signal()
        signal.wake()
        signal.wake()
        await signal.wait()
        // Both count as one.
        async let wait: Void = signal.wait()
        signal.wake()
        await wait
    }

    @Test func `a signal that never fires ends its wait with the task`() async {
        let signal = Signal()
        let task = Task { await signal.wait() }
        task.cancel()
        await task.value
    }

    @Test func `a signal lets no task wait that was canceled before`() async {
        let signal = Signal()
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await signal.wait()
        }.value
    }

    @Test func `a signal is waited for no longer than a limit`() async {
        let (signal, clock) = (Signal(), TestClock())
        let task = Task { await signal.wait(for: .seconds(2), by: clock) }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .seconds(2))
        await task.value
    }

    @Test func `a signal leaves no timer where it fires in time`() async {
        let (signal, clock) = (Signal(), TestClock())
        signal.wake()
        await signal.wait(for: .seconds(2), by: clock)
        await untilTrue { clock.sleeping.count == 0 }
    }
}
