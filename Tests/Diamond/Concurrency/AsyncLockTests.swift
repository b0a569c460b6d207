import DiamondSQLite
import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("An asynchronous lock", .limit(minutes: 5)) struct AsyncLockTests {
    @Test func `one task at a time has the lock`() async {
        let (lock, users, runs) = (AsyncLock(), Guarded(0), Guarded(0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    await lock.run {
                        #expect(users.withLock { $0 } == 0)
                        users.withLock { $0 += 1 }
                        await Task.yield()
                        users.withLock { $0 -= 1 }
                        runs.withLock { $0 += 1 }
                    }
                }
            }
        }
        #expect(runs.withLock { $0 } == 100)
    }

    @Test func `a wait for the lock ends when its task is canceled, and the lock goes to the next`() async throws {
        let lock = AsyncLock()
        try await lock.acquire()
        let canceled = Task { try await lock.acquire() }
        canceled.cancel()
        await #expect(throws: CancellationError.self) { try await canceled.value }
        let next = Task { try await lock.acquire() }
        lock.release()
        try await next.value
        lock.release()
    }

    @Test func `a body is run although its task is canceled while it waits`() async throws {
        let lock = AsyncLock()
        try await lock.acquire()
        let task = Task { await lock.run { Task.isCancelled } }
        task.cancel()
        lock.release()
        #expect(await task.value)
        await lock.run {}
    }
}
