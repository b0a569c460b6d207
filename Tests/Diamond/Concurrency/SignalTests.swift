import DiamondTestSupport
import DiamondTesting
import Testing

@testable import Diamond

@Suite("A signal", .limit(minutes: 5)) struct SignalTests {
    @Test func `resumes its waiter, or else the next wait`() async {
        let signal = Signal()
        signal.wake()
        signal.wake()
        await signal.wait()
        // Both count as one.
        async let wait: Void = signal.wait()
        signal.wake()
        await wait
    }

    @Test func `a wait for a signal ends when its task is canceled`() async {
        let signal = Signal()
        let task = Task { await signal.wait() }
        task.cancel()
        await task.value
    }

    @Test func `a wait for a signal ends at once in a canceled task`() async {
        let signal = Signal()
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await signal.wait()
        }.value
    }

    @Test func `a wait for a signal ends at its time limit`() async {
        let (signal, clock) = (Signal(), TestClock())
        let task = Task { await signal.wait(within: TimeLimit(.seconds(2), by: clock)) }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .seconds(2))
        await task.value
    }

    @Test func `leaves no timer where it fires in time`() async {
        let (signal, clock) = (Signal(), TestClock())
        signal.wake()
        await signal.wait(within: TimeLimit(.seconds(2), by: clock))
        await untilTrue { clock.sleeping.count == 0 }
    }
}
