import DiamondSQLite
import DiamondTestSupport
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `Those who keep what they have received` {
    private let holders = PartialHolders()
    private let owner = PartialHolders.Owner.claimant(ObjectIdentifier(Gate.self))

    private func hold() -> PartialHold { PartialHold(of: owner, among: holders) }

    @Test func `are one for each owner`() async {
        let (first, second) = (hold(), hold())
        #expect(first.enter() && first.enter())
        #expect(await !second.settle())
        #expect(!second.enter())
        first.end()
        #expect(await second.settle())
        #expect(second.enter() && !first.enter())
    }

    @Test func `are not waited for by who is canceled`() async {
        let first = hold()
        #expect(first.enter())
        first.leave()
        let all = Task { [holders] in await holders.settle() }
        let one = Task { [holders, owner] in await holders.settle(owner) }
        for _ in 0..<100 { await Task.yield() }
        all.cancel()
        one.cancel()
        await all.value
        #expect(await !one.value)
        first.end()
        #expect(hold().enter())
    }

    @Test func `are none where they were canceled before`() async {
        let (first, second) = (hold(), hold())
        first.leave()
        #expect(!first.enter())
        #expect(second.enter())
    }

    @Test func `are waited for when they are canceled`() async {
        let (first, second) = (hold(), hold())
        #expect(first.enter())
        first.leave()
        #expect(first.enter())
        let isOver = Guarded(false)
        let task = Task {
            let isFree = await second.settle()
            return isFree && isOver.withLock { $0 }
        }
        for _ in 0..<100 { await Task.yield() }
        isOver.withLock { $0 = true }
        first.end()
        #expect(await task.value)
        await holders.settle()
    }

    @Test func `are gone when they are dropped`() async {
        var first: PartialHold? = hold()
        #expect(first?.enter() == true)
        first?.leave()
        first = nil
        #expect(await hold().settle())
    }
}
