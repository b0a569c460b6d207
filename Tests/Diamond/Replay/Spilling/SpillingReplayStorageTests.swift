import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

/// A storage in which a test stops calls.
private final class PausingStorage: ReplayStorageWrapper {
    let base: any ReplayStorage
    /// Called before an addition, and before an owner is removed, which is the end of a move.
    let beforeEnqueue = Guarded<@Sendable () async -> Void>({})
    let beforeUnregister = Guarded<@Sendable () async -> Void>({})
    /// Whether leases have ended.
    let isLate = Guarded(false)

    init(_ base: any ReplayStorage) { self.base = base }

    func enqueue(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(ReplayError) -> ReplayEnqueued {
        await beforeEnqueue.withLock { $0 }()
        return try await base.enqueue(entry, isWanted: isWanted)
    }

    func renew(
        _ owner: ReplayOwnerRecord.ID, lease: Int64, isSuspended: Bool
    ) async throws(ReplayError) -> Bool {
        guard !isLate.withLock({ $0 }) else { return false }
        return try await base.renew(owner, lease: lease, isSuspended: isSuspended)
    }

    func unregister(_ owner: ReplayOwnerRecord.ID) async throws(ReplayError) {
        await beforeUnregister.withLock { $0 }()
        try await base.unregister(owner)
    }
}

@Suite("Jobs that spill while a server cannot be reached", .limit(minutes: 5)) struct SpillingReplayStorageTests {
    private let files = TemporaryStore()
    private let (remote, local): (UnreliableStorage, SQLiteReplayStorage)
    private let clock = TestClock()

    init() throws {
        remote = UnreliableStorage(try Self.storage(files.directory.appending(path: "server")))
        local = try Self.storage(files.directory.appending(path: "spill"))
    }

    private static func storage(_ directory: URL) throws(ReplayError) -> SQLiteReplayStorage {
        try SQLiteReplayStorage(Store(directory: directory), seal: nil, clock: .system, create: true, seals: true)
    }

    private func spilling() throws -> SpillingReplayStorage {
        try SpillingReplayStorage(remote, spillingInto: local, clock: clock)
    }

    private func add(_ number: Int, key: String? = "k", to storage: any ReplayStorage) async throws -> ReplayJob.ID {
        var request = Request("http://api.test/\(number)", method: .put)
        request.replay = ReplayPolicy(.durable, orderingKey: key)
        let added = try await storage.enqueue(
            ReplayEntry([try ReplayDraft(request)], maximumCount: 10_000), isWanted: nil)
        return try #require(added.ids[0])
    }

    private func paths() throws -> [String] {
        try remote.base.jobs(ReplayFilter(), after: 0, limit: 100).map { String($0.url.suffix(1)) }
    }

    /// Waits until no job spills, while the pauses between two attempts pass.
    private func waitUntilMoved(_ storage: SpillingReplayStorage) async {
        while storage.isSpilling {
            clock.advance(by: .seconds(1))
            await Task.yield()
        }
    }

    @Test func `jobs spill until the server is back, and keep their order`() async throws {
        let storage = try spilling()
        #expect(try await add(1, to: storage) > 0)
        remote.fault.withLock { $0 = .unreachable }
        let second = try await add(2, to: storage)
        #expect(second < 0 && storage.isSpilling)
        #expect(try storage.job(second)?.url.hasSuffix("/2") == true)
        #expect(try storage.job(second)?.id == second)
        remote.fault.withLock { $0 = .none }
        let third = try await add(3, to: storage)
        await waitUntilMoved(storage)
        #expect(try await add(4, to: storage) > 0)
        #expect(try paths() == ["1", "2", "3", "4"])
        #expect(try storage.job(second)?.url.hasSuffix("/2") == true)
        #expect(try third > 0 || storage.job(third)?.state == .ready)
        #expect(try local.counts().allSatisfy { $0.key.isEnd || $0.value == 0 } && local.holds().isEmpty)
    }

    @Test func `a job whose commit is unknown is there once`() async throws {
        let storage = try spilling()
        remote.fault.withLock { $0 = .unknownCommit }
        let first = try await add(1, to: storage)
        #expect(first < 0)
        _ = try await add(2, to: storage)
        remote.fault.withLock { $0 = .none }
        await waitUntilMoved(storage)
        #expect(try paths() == ["1", "2"])
    }

    @Test(arguments: [HTTPRequest.Method.put, .post])
    func `a job whose id the server gives to another one has a new id`(method: HTTPRequest.Method) async throws {
        // The server has lost the commit, and gives the id to another job.
        let reserved = try await remote.reserveIDs(1)
        var request = Request("http://api.test/1", method: method)
        request.replay = .durable
        let id = try await local.reserveIDs(1)
        let note = ReplayMove.note([id], from: reserved, by: "added \(id)")
        _ = try await local.hold(note.hold, reason: note.text, isSignOut: false, isDryRun: false)
        var entry = ReplayEntry([try ReplayDraft(request)], maximumCount: 10)
        entry.ids = [id]
        _ = try await local.enqueue(entry, isWanted: nil)
        request.url = "http://api.test/2"
        entry = ReplayEntry([try ReplayDraft(request)], maximumCount: 10)
        entry.ids = [reserved]
        _ = try await remote.enqueue(entry, isWanted: nil)
        let result = try await ReplayMove(from: local, to: remote, maximumCount: 10).run()
        #expect(try #require(result.moved[id]) != reserved)
        #expect(try paths() == ["2", "1"])
    }

    @Test func `a job whose commit is unknown is there once, also if a move ends before it is in the local storage`()
        async throws
    {
        let (isOpen, moves) = (Guarded(false), Guarded(0))
        let pausing = PausingStorage(local)
        pausing.beforeEnqueue.withLock { $0 = { await untilTrue { isOpen.withLock { $0 } } } }
        pausing.beforeUnregister.withLock { $0 = { moves.withLock { $0 += 1 } } }
        let storage = try SpillingReplayStorage(remote, spillingInto: pausing, clock: clock)
        remote.fault.withLock { $0 = .unknownCommit }
        async let id = add(1, to: storage)
        // Its note is there.
        try await untilTrue { try !local.holds().isEmpty }
        remote.fault.withLock { $0 = .none }
        let before = moves.withLock { $0 }
        await untilTrue {
            clock.advance(by: .seconds(1))
            return moves.withLock { $0 } >= before + 2
        }
        isOpen.withLock { $0 = true }
        #expect(try await id < 0)
        await waitUntilMoved(storage)
        #expect(try paths() == ["1"])
        #expect(try local.holds().isEmpty)
    }

    @Test func `a job that is added while a move ends is moved by the next one`() async throws {
        let (isOpen, isAdded) = (Guarded(false), Guarded(false))
        let pausing = PausingStorage(local)
        pausing.beforeEnqueue.withLock { $0 = { await untilTrue { isOpen.withLock { $0 } } } }
        pausing.beforeUnregister.withLock { stop in
            stop = {
                // The move has found no job.
                isOpen.withLock { $0 = true }
                await untilTrue { isAdded.withLock { $0 } }
            }
        }
        let storage = try SpillingReplayStorage(remote, spillingInto: pausing, clock: clock)
        remote.fault.withLock { $0 = .unreachable }
        _ = try await add(1, to: storage)
        remote.fault.withLock { $0 = .none }
        isAdded.withLock { $0 = true }
        await waitUntilMoved(storage)
        #expect(try paths() == ["1"])
    }

    @Test func `what an earlier process has left is moved first`() async throws {
        remote.fault.withLock { $0 = .unknownCommit }
        do {
            let storage = try spilling()
            _ = try await add(1, to: storage)
            _ = try await add(2, key: nil, to: storage)
        }
        remote.fault.withLock { $0 = .none }
        let storage = try spilling()
        _ = try await add(3, to: storage)
        await waitUntilMoved(storage)
        #expect(try paths().filter { $0 != "2" } == ["1", "3"])
        #expect(try paths().count == 3)
    }

    @Test func `the local storage forgets what was moved long ago`() async throws {
        var own = ReplayClock.system
        own.now = { [clock] in clock.wallTime }
        own.uptime = { [clock] in clock.uptime }
        let local = try SQLiteReplayStorage(
            Store(directory: files.directory.appending(path: "old")), seal: nil, clock: own, create: true, seals: true)
        let storage = try SpillingReplayStorage(remote, spillingInto: local, clock: clock)
        remote.fault.withLock { $0 = .unreachable }
        let first = try await add(1, to: storage)
        remote.fault.withLock { $0 = .none }
        await waitUntilMoved(storage)
        #expect(try paths() == ["1"] && local.job(-first)?.state == .done)
        clock.advance(by: .seconds(2 * 86_400))
        remote.fault.withLock { $0 = .unreachable }
        let second = try await add(2, to: storage)
        remote.fault.withLock { $0 = .none }
        await waitUntilMoved(storage)
        try await untilTrue { try local.job(-first) == nil }
        #expect(try local.job(-second)?.state == .done)
    }

    @Test func `a request that may not be sent now is preceded while jobs spill`() async throws {
        let storage = try spilling()
        var request = Request("http://api.test/", method: .put)
        request.replay = ReplayPolicy(.onFailure, orderingKey: "k")
        let draft = try ReplayDraft(request)
        #expect(try await !storage.isPreceded(draft))
        remote.fault.withLock { $0 = .unreachable }
        _ = try await add(1, to: storage)
        #expect(try await storage.isPreceded(draft))
    }

    @Test func `jobs that are added without a pause do not go on spilling`() async throws {
        // By the real time: additions wait for a second at most.
        let storage = try SpillingReplayStorage(remote, spillingInto: local, pause: .milliseconds(1))
        remote.fault.withLock { $0 = .unreachable }
        _ = try await add(1, to: storage)
        remote.fault.withLock { $0 = .none }
        var count = 1
        var last: ReplayJob.ID = -1
        while last < 0, count < 2000 {
            count += 1
            last = try await add(count, to: storage)
        }
        #expect(last > 0)
        let urls = try remote.base.jobs(ReplayFilter(), after: 0, limit: 10_000).map(\.url)
        #expect(urls == (1...count).map { "http://api.test/\($0)" })
    }

    @Test func `a spilled job is discarded before it reaches the server, and after it`() async throws {
        let storage = try spilling()
        remote.fault.withLock { $0 = .unreachable }
        let ids = [try await add(1, key: nil, to: storage), try await add(2, key: nil, to: storage)]
        #expect(try await storage.apply(.discard, to: [ids[0], -99], isDryRun: false) == [.done(.done), .noJob])
        remote.fault.withLock { $0 = .none }
        await waitUntilMoved(storage)
        #expect(try paths() == ["2"])
        let kept = try await add(3, key: nil, to: storage)
        let effects = try await storage.apply(.discard, to: [kept, ids[1]], isDryRun: false)
        #expect(effects == [.done(.done), .done(.done)])
        #expect(try storage.job(ids[1])?.reason == .discarded)
    }

    @Test func `a spilled job that is held moves when it is released`() async throws {
        let storage = try spilling()
        remote.fault.withLock { $0 = .unreachable }
        let id = try await add(1, key: nil, to: storage)
        #expect(try await storage.apply(.hold, to: [id], isDryRun: false) == [.done(.held)])
        remote.fault.withLock { $0 = .none }
        await waitUntilMoved(storage)
        #expect(try paths().isEmpty && storage.job(id)?.state == .held)
        #expect(try await storage.apply(.release, to: [id], isDryRun: false) == [.done(.ready)])
        await waitUntilMoved(storage)
        #expect(try paths() == ["1"])
    }

    @Test(arguments: [false, true]) func `a spilled job is edited`(isMoved: Bool) async throws {
        let storage = try spilling()
        remote.fault.withLock { $0 = .unreachable }
        let id = try await add(1, key: nil, to: storage)
        if isMoved {
            remote.fault.withLock { $0 = .none }
            await waitUntilMoved(storage)
        }
        let old = try ReplayDraft.request(from: try #require(try storage.request(of: id)))
        var request = old
        request.url = "http://api.test/2"
        let edit = try ReplayEdit(of: id, from: old, to: ReplayDraft(request), maximumCount: 100)
        #expect(try await storage.edit(edit) == (isMoved ? remote.lastID() : id))
        remote.fault.withLock { $0 = .none }
        await waitUntilMoved(storage)
        #expect(try paths() == ["2"])
    }

    // MARK: Moving

    @Test func `a move takes open jobs as they are, and leaves the others`() async throws {
        let start = ContinuousClock.now
        let queue = ReplayQueue(storage: local)
        var request = Request("http://api.test/1", method: .post)
        request.replay = ReplayPolicy(.durable, orderingKey: "k", metadata: ["a": 1])
        let ids = try await [
            queue.enqueue(request), queue.enqueue(request, after: .seconds(60)), queue.enqueue(request),
            queue.enqueue(request),
        ].compactMap { $0 }
        try await queue.hold(ids[2])
        try await queue.discard(ids[3])
        let old = try ids.map { try #require(try queue.job($0)) }
        let result = try await ReplayMove(from: local, to: remote, maximumCount: 100).run()
        #expect(result.moved.count == 3 && result.refusals.isEmpty)
        for job in old[..<3] {
            let id = try #require(result.moved[job.id])
            let new = try #require(try remote.job(id))
            #expect(new.state == job.state && new.metadata == job.metadata && new.idempotencyKey == job.idempotencyKey)
            // A ready job is due when it is added, and a wait keeps its length.
            let delay = Duration.seconds(abs(new.runAt.timeIntervalSince(job.runAt)))
            #expect(delay < start.duration(to: .now) + .seconds(1))
            #expect(new.expiresAt == job.expiresAt)
            #expect(try queue.job(job.id)?.state == .done)
        }
        #expect(try await ReplayMove(from: local, to: remote, maximumCount: 100).run().moved.isEmpty)
    }

    @Test func `a move that ended in the middle is completed, and doubles nothing`() async throws {
        for number in 1...5 { _ = try await add(number, to: local) }
        remote.fault.withLock { $0 = .unknownCommit }
        await #expect(throws: ReplayError.self) {
            try await ReplayMove(from: local, to: remote, maximumCount: 100).run()
        }
        #expect(try local.counts()[.ready] == 5)
        remote.fault.withLock { $0 = .none }
        _ = try await add(6, to: local)
        let result = try await ReplayMove(from: local, to: remote, maximumCount: 100).run()
        #expect(result.moved.count == 6)
        #expect(try paths() == ["1", "2", "3", "4", "5", "6"])
        #expect(try local.holds().isEmpty)
    }

    @Test(arguments: [false, true]) func `a move whose lease has ended fails, and the next one completes it`(
        isHolding: Bool
    ) async throws {
        for number in 1...3 { _ = try await add(number, to: local) }
        let source = PausingStorage(local)
        source.isLate.withLock { $0 = true }
        let move = ReplayMove(from: source, to: remote, maximumCount: 100)
        await #expect {
            _ = try await isHolding ? move.runHolding() : move.run()
        } throws: {
            ($0 as? ReplayError)?.code == .busy
        }
        #expect(try paths().isEmpty && local.counts()[.ready] == 3)
        source.isLate.withLock { $0 = false }
        #expect(try await (isHolding ? move.runHolding() : move.run()).moved.count == 3)
        #expect(try paths() == ["1", "2", "3"] && local.holds().isEmpty)
    }

    @Test func `two programs do not move the jobs of one source at a time`() async throws {
        _ = try await add(1, to: local)
        let other = try Self.storage(files.directory.appending(path: "spill"))
        let owner = try await other.register(.init(process: 1, name: "other"), lease: 60_000)
        let note = ReplayMove.note([1], from: 7, by: "\(owner)")
        _ = try await other.hold(note.hold, reason: note.text, isSignOut: false, isDryRun: false)
        let move = ReplayMove(from: local, to: remote, maximumCount: 100)
        await #expect { try await move.run() } throws: { ($0 as? ReplayError)?.code == .busy }
        other.abandon(owner)
        #expect(try await move.run().moved == [1: 7])
    }
}
