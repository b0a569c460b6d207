import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The lock of an owner", .limit(minutes: 5)) struct OwnerLockTests {
    let temporary = TemporaryStore()

    private var directory: URL { temporary.store.ownersDirectory }
    private var files: Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? [])
    }

    /// Leaves the lock file of a process that was killed before it had a row.
    private func leaveFile() throws -> String {
        let name = UUID().uuidString
        try Data().write(to: directory.appending(path: name))
        return name
    }

    @Test func `a lock file is removed only with its owner, or by a process that finds the owner dead`()
        throws
    {
        try temporary.store.create(directory)
        var lock: OwnerLock? = try OwnerLock(in: directory)
        let name = try #require(lock?.name)
        #expect(!OwnerLock.isFree(name, in: directory))
        OwnerLock.remove(name, in: directory)
        OwnerLock.removeFree(in: directory, except: [])
        #expect(files == [name])
        lock = nil
        #expect(files.isEmpty && OwnerLock.isFree(name, in: directory))
        let left = try leaveFile()
        OwnerLock.remove(left, in: directory)
        #expect(files.isEmpty)
    }

    @Test func `a lock file is removed if it has neither an owner's row nor a lock, and no other file is`() throws {
        try temporary.store.create(directory)
        let named = try leaveFile()
        for _ in 0..<3 { _ = try leaveFile() }
        try Data().write(to: directory.appending(path: "notes.txt"))
        OwnerLock.removeFree(in: directory, except: [named])
        #expect(files == [named, "notes.txt"])
    }

    // Another process may remove the file between the two calls that create and lock it.
    @Test func `a lock file that is removed before it is locked is created again`() async throws {
        try temporary.store.create(directory)
        let directory = directory
        let isOver = Guarded(false)
        let sweeping = Task.detached {
            while !isOver.withLock({ $0 }) { OwnerLock.removeFree(in: directory, except: []) }
        }
        for _ in 0..<500 {
            let lock = try OwnerLock(in: directory)
            #expect(FileManager.default.fileExists(atPath: directory.appending(path: lock.name).path))
            #expect(!OwnerLock.isFree(lock.name, in: directory))
        }
        isOver.withLock { $0 = true }
        await sweeping.value
        #expect(files.isEmpty)
    }

    @Test func `a replayer removes the lock files of killed owners`() async throws {
        let queue = try ReplayQueue(temporary.store)
        _ = try leaveFile()
        try await queue.enqueue(Request("http://h/", method: .put, body: .json(1)))
        let owner = try await queue.owner.enter()
        let name = try #require(try Self.owners(of: queue).first).name
        let replayer = Replayer(queue, width: 1, reachability: StubReachability()) { attempt in
            JobResult(outcome: await attempt.begin() ? .success : .notBegun)
        }
        await replayer.replay()
        #expect(files == [name])
        queue.owner.leave()
        await queue.close()
        #expect(files.isEmpty && owner > 0)
    }

    @Test func `a living owner that was taken for dead keeps its lock file`() async throws {
        let (uptime, before) = (Guarded<Uptime>(0), Guarded<(@Sendable () -> Void)?>(nil))
        var clock = ReplayClock.still
        clock.uptime = {
            before.withLock { $0.take() }?()
            return uptime.withLock { $0 }
        }
        let (queue, other) = (
            try ReplayQueue(temporary.store, clock: clock), try ReplayQueue(temporary.store, clock: .still)
        )
        let id = try await other.owner.enter()
        let name = try #require(try Self.owners(of: other).first).name
        _ = try await queue.owner.enter()
        // Its lease has ended by this process's clock, and is renewed after this process has examined it.
        uptime.withLock { $0 = Uptime(rawValue: ReplayOwner.lease) }
        before.withLock {
            $0 = {
                _ = try? other.database.write { (connection) throws(SQLiteError) in
                    let ledger = ReplayLedger(now: 0, uptime: Uptime(rawValue: ReplayOwner.lease - 1))
                    return try ReplayTable.renew(id, lease: ReplayOwner.lease, on: connection, ledger: ledger)
                }
            }
        }
        _ = try await queue.owner.rescue { _ in }
        #expect(try Self.owners(of: other).map(\.name).contains(name))
        #expect(files.contains(name) && !OwnerLock.isFree(name, in: directory))
        for queue in [queue, other] { queue.owner.leave() }
    }

    private static func owners(of queue: ReplayQueue) throws -> [ReplayTable.Owner] {
        try queue.read { (connection) throws(SQLiteError) in try ReplayTable.owners(on: connection) }
    }
}
