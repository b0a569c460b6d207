import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Testing

@testable import Diamond

@Suite("A time limit", .limit(minutes: 5)) struct TimeLimitTests {
    private let clock = TestClock()

    @Test func `calls its function when the time is up, and not before`() async {
        let calls = Guarded(0)
        let timer = TimeLimit(.seconds(2), by: clock).start { calls.withLock { $0 += 1 } }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .seconds(1))
        #expect(calls.withLock { $0 } == 0)
        clock.advance(by: .seconds(1))
        await untilTrue { calls.withLock { $0 } == 1 }
        timer.cancel()
    }

    @Test func `a time limit that is canceled does not call its function`() async {
        let calls = Guarded(0)
        let timer = TimeLimit(.seconds(2), by: clock).start { calls.withLock { $0 += 1 } }
        await untilTrue { clock.sleeping.count == 1 }
        timer.cancel()
        await untilTrue { clock.sleeping.count == 0 }
        clock.advance(by: .seconds(3))
        #expect(calls.withLock { $0 } == 0)
    }

    @Test(arguments: [false, true])
    func `ends the wait for a promise with the reason, as the cancellation of its task does`(
        isCanceled: Bool
    ) async {
        let promise = Promise<WaitEnd?>()
        let wait = Task { [limit = TimeLimit(.seconds(2), by: clock)] in
            await promise.value(within: limit) { promise.fulfill(with: $0) }
        }
        await untilTrue { clock.sleeping.count == 1 }
        if isCanceled { wait.cancel() } else { clock.advance(by: .seconds(2)) }
        #expect(await wait.value == (isCanceled ? .canceled : .late))
        await untilTrue { clock.sleeping.count == 0 }
    }

    @Test func `cancels a late body and waits for its end`() async {
        let (gate, isCanceled) = (Gate(), Gate())
        let value = Task { [limit = TimeLimit(.seconds(1), by: clock)] in
            await limit.canceling {
                await Signal().wait()
                isCanceled.open()
                await gate.wait()
                return Task.isCancelled ? 7 : 1
            }
        }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .seconds(1))
        await isCanceled.wait()
        gate.open()
        let (result, isLate) = await value.value
        #expect(result == 7 && isLate)
    }

    @Test func `returns the result of a body that ends in time`() async {
        #expect(await TimeLimit(.seconds(1), by: clock).value { 7 } == 7)
        await untilTrue { clock.sleeping.count == 0 }
    }

    @Test func `returns without a late body, which continues`() async {
        let (gate, isThrough) = (Gate(), Gate())
        let value = Task { [clock] in
            await TimeLimit(.seconds(1), by: clock).value {
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
            await TimeLimit(.seconds(1), by: clock).value {
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
