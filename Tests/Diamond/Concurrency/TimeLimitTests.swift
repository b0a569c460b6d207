import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Testing

@testable import Diamond

@Suite("A time limit", .timeLimit(.minutes(5))) struct TimeLimitTests {
    private let clock = TestClock()

    @Test func `calls its function when the time is up, and not before`() async {
        let calls = Guarded(0)
        let deadline = Deadline(after: .seconds(2), by: clock) { calls.withLock { $0 += 1 } }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .seconds(1))
        #expect(calls.withLock { $0 } == 0)
        clock.advance(by: .seconds(1))
        await untilTrue { calls.withLock { $0 } == 1 }
        deadline.cancel()
    }

    @Test func `a time limit that is canceled does not call its function`() async {
        let calls = Guarded(0)
        let deadline = Deadline(after: .seconds(2), by: clock) { calls.withLock { $0 += 1 } }
        await untilTrue { clock.sleeping.count == 1 }
        deadline.cancel()
        await untilTrue { clock.sleeping.count == 0 }
        clock.advance(by: .seconds(3))
        #expect(calls.withLock { $0 } == 0)
    }

    @Test func `returns the result of a body that ends in time`() async {
        #expect(await Deadline.value(within: .seconds(1), by: clock) { 7 } == 7)
        await untilTrue { clock.sleeping.count == 0 }
    }

    @Test func `returns without a late body, which continues`() async {
        let (gate, isThrough) = (Gate(), Gate())
        let value = Task { [clock] in
            await Deadline.value(within: .seconds(1), by: clock) {
                await gate.wait()
                isThrough.open()
                return 7
            }
        }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .seconds(1))
        #expect(await value.value == nil)
        gate.open()
        await isThrough.wait()
    }

    @Test func `does not end early when the waiting task is canceled`() async {
        let gate = Gate()
        let value = Task { [clock] in
            await Deadline.value(within: .seconds(1), by: clock) {
                await gate.wait()
                return 7
            }
        }
        await untilTrue { clock.sleeping.count == 1 }
        value.cancel()
        gate.open()
        #expect(await value.value == 7)
    }
}
