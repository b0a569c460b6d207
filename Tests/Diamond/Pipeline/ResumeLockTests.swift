import DiamondSQLite
import DiamondTestSupport
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `The lock of a partial response` {
    private let store = ResumeStore(cache: nil, kind: .private, activity: Activity())

    private func lock(_ number: UInt8 = 1) -> ResumeLock {
        ResumeLock(of: .entry(RequestKey(of: [number])), in: store)
    }

    @Test func `is held by one exchange at a time`() async {
        let (first, second) = (lock(), lock())
        #expect(first.acquire() && first.acquire())
        #expect(await !second.waitUntilFree())
        #expect(!second.acquire())
        first.release()
        #expect(await second.waitUntilFree())
        #expect(second.acquire() && !first.acquire())
    }

    @Test func `is not waited for by a task that is canceled`() async {
        let first = lock()
        #expect(first.acquire())
        first.cancel()
        let all = Task { [store] in await store.waitForCanceled() }
        let second = lock()
        let one = Task { await second.waitUntilFree() }
        for _ in 0..<100 { await Task.yield() }
        all.cancel()
        one.cancel()
        await all.value
        #expect(await !one.value)
        first.release()
        #expect(lock().acquire())
    }

    @Test func `is not acquired by an exchange that was canceled before`() async {
        let (first, second) = (lock(), lock())
        first.cancel()
        #expect(!first.acquire())
        #expect(second.acquire())
    }

    @Test func `is waited for when its exchange is canceled`() async {
        let (first, second) = (lock(), lock())
        #expect(first.acquire())
        first.cancel()
        #expect(first.acquire())
        let isOver = Guarded(false)
        let task = Task {
            let isFree = await second.waitUntilFree()
            return isFree && isOver.withLock { $0 }
        }
        for _ in 0..<100 { await Task.yield() }
        isOver.withLock { $0 = true }
        first.release()
        #expect(await task.value)
        await store.waitForCanceled()
    }

    @Test func `is released when it is deallocated`() async {
        var first: ResumeLock? = lock()
        #expect(first?.acquire() == true)
        first?.cancel()
        first = nil
        #expect(await lock().waitUntilFree())
    }

    @Test func `is its request's or its connection's alone`() {
        let (slot, other) = (ResumeSlot(), ResumeSlot())
        let held = [lock(1), lock(2)] + [slot, other].map { ResumeLock(of: .slot(ObjectIdentifier($0)), in: store) }
        #expect(held.map { $0.acquire() } == [true, true, true, true])
        #expect(!ResumeLock(of: .slot(ObjectIdentifier(slot)), in: store).acquire())
    }

    @Test func `is not acquired again once it was released`() {
        let first = lock()
        #expect(!first.wasRequested && first.acquire())
        first.release()
        #expect(first.wasRequested && !first.acquire())
        // Nor does a late cancellation mark the next holder.
        let second = lock()
        #expect(second.acquire())
        first.cancel()
        first.release()
        #expect(!lock().acquire())
    }
}
