import DiamondSQLite
import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A promise", .limit(minutes: 5)) struct PromiseTests {
    @Test func `delivers its first value to present and later waiters`() async {
        let (early, late) = (Promise<Int>(), Promise<Int>())
        async let value = early.value()
        let first = [early.fulfill(with: 1), early.fulfill(with: 2)]
        #expect(await value == 1 && first == [true, false])
        late.fulfill(with: 3)
        #expect(await late.value() == 3 && late.isFulfilled)
    }

    @Test func `a wait for a promise ends when its task is canceled`() async {
        let promise = Promise<Int>()
        let task = Task { await promise.value { -1 } }
        task.cancel()
        #expect(await task.value == -1)
        // Too late.
        #expect(!promise.fulfill(with: 1))
    }

    @Test func `a wait for a promise ends at once in a canceled task`() async {
        let promise = Promise<Int>()
        let value = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await promise.value { -1 }
        }.value
        #expect(value == -1)
    }

    @Test func `a wait for a fulfilled promise returns its value even in a canceled task`() async {
        let promise = Promise<Int>()
        promise.fulfill(with: 1)
        let value = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await promise.value { -1 }
        }.value
        #expect(value == 1)
    }

    @Test func `a promise's wait without a cancellation value continues in a canceled task`() async {
        let promise = Promise<Int>()
        let task = Task { await promise.value() }
        task.cancel()
        #expect(!promise.isFulfilled)
        promise.fulfill(with: 1)
        #expect(await task.value == 1)
    }

    @Test func `retains nothing of a value that was removed`() async {
        final class Token: Sendable {}
        let promise = Promise<Token>()
        weak var kept: Token?
        do {
            let token = Token()
            kept = token
            promise.fulfill(with: token)
        }
        #expect(kept != nil)
        _ = await promise.value()
        #expect(kept == nil && promise.isFulfilled)
    }

    @Test func `runs the closure of ifPending only before it has a value`() {
        let promise = Promise<Int>()
        var runs = 0
        let before = promise.ifPending { runs += 1 }
        promise.fulfill(with: 1)
        let behind = promise.ifPending { runs += 1 }
        #expect(before && !behind && runs == 1)
    }

    @Test func `has one value, the first one set`() async {
        for _ in 0..<Effort.rounds(500, soaking: 50_000) {
            let promise = Promise<Int>()
            async let value = promise.value { 0 }
            let firsts = await withTaskGroup(of: Int?.self) { group in
                for number in 1...4 { group.addTask { promise.fulfill(with: number) ? number : nil } }
                return await group.reduce(into: []) { $0 += [$1].compactMap(\.self) }
            }
            let told = await value
            #expect(firsts == [told])
        }
    }
}
