import DiamondSQLite
import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("The lock of a partial response", .limit(minutes: 5)) struct ResumeLockTests {
    private let locks = ResumeLocks()

    private func lock(_ number: UInt8 = 1) -> ResumeLock {
        ResumeLock(of: .entry(RequestKey(of: [number])), in: locks)
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

    @Test func `a canceled task does not wait for the lock`() async {
        let first = lock()
        #expect(first.acquire())
        first.cancel()
        let all = Task { [locks] in await locks.waitForCanceled() }
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

    @Test func `a canceled exchange does not acquire the lock`() async {
        let (first, second) = (lock(), lock())
        first.cancel()
        #expect(!first.acquire())
        #expect(second.acquire())
    }

    @Test func `a canceled exchange holds its lock until the lock is released`() async {
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
        await locks.waitForCanceled()
    }

    @Test func `the lock is released when it is deallocated`() async {
        var first: ResumeLock? = lock()
        #expect(first?.acquire() == true)
        first?.cancel()
        first = nil
        #expect(await lock().waitUntilFree())
    }

    @Test func `a lock belongs to one request or one connection only`() {
        let (slot, other) = (ResumeSlot(), ResumeSlot())
        let held = [lock(1), lock(2)] + [slot, other].map { ResumeLock(of: .slot(ObjectIdentifier($0)), in: locks) }
        #expect(held.map { $0.acquire() } == [true, true, true, true])
        #expect(!ResumeLock(of: .slot(ObjectIdentifier(slot)), in: locks).acquire())
    }

    @Test func `a lock is not acquired again after its release`() {
        let first = lock()
        #expect(!first.wasRequested && first.acquire())
        first.release()
        #expect(first.wasRequested && !first.acquire())
        // A late cancellation does not mark the next holder either.
        let second = lock()
        #expect(second.acquire())
        first.cancel()
        first.release()
        #expect(!lock().acquire())
    }
}
