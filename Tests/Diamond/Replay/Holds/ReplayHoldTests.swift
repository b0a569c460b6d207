import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A hold of many jobs", .limit(minutes: 5)) struct ReplayHoldTests {
    let temporary = TemporaryStore()

    private func requests(_ count: Int) -> [Request] {
        var request = Request("http://api.test/notes", method: .put, body: .json(["text": "a"]))
        request.replay = .durable
        return Array(repeating: request, count: count)
    }

    @Test(arguments: [ReplayHold.lane(.default), .key("a"), .identity("anna")])
    func `a hold uses short transactions, and includes every job`(hold: ReplayHold) async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        let others = requests(3)
        let held = requests(1_201).map { request in
            var request = request
            switch hold {
            case .key(let key): request.replay.orderingKey = key
            case .identity(let name): request.identity = name
            default: break
            }
            return request
        }
        if hold != .lane(.default) { try await queue.enqueue(others) }
        try await queue.enqueue(held)
        let most = Guarded(0)
        let number = queue.listeners.add { transitions in most.withLock { $0 = max($0, transitions.count) } }
        #expect(try await queue.apply(hold, isDryRun: true) == 1_201)
        #expect(try queue.counts()[.held] == 0 && queue.holds().isEmpty)
        #expect(try await queue.hold(hold) == 1_201)
        #expect(try await queue.hold(hold) == 0)
        try await queue.enqueue([held[0]])
        #expect(try queue.counts()[.held] == 1_202)
        #expect(try await queue.end(hold, isDryRun: true) == 1_202)
        #expect(try await queue.release(hold) == 1_202)
        #expect(try queue.counts()[.held] == 0)
        #expect(most.withLock { $0 } == 500)
        queue.listeners.remove(number)
    }

    @Test func `a hold interrupted at its beginning keeps the remaining jobs from being sent`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.enqueue(requests(2))
        // The file as it is when the process dies after its first transaction.
        try queue.database.write { (connection) throws(SQLiteError) in
            let ledger = ReplayLedger(now: 0, uptime: 0)
            try ReplayTable.add(.lane(.default), reason: "", on: connection, ledger: ledger)
        }
        let owner = try await queue.owner.enter()
        #expect(try await queue.claim(2, of: .all, by: owner)?.isEmpty == true)
        #expect(try queue.jobs().map(\.state) == [.held, .held])
        queue.owner.leave()
    }

    @Test func `a hold interrupted at its end releases its jobs with the next maintenance`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.enqueue(requests(3))
        try await queue.hold(.lane(.default))
        try await queue.release(.lane(.default))
        try await queue.hold(2)
        try await queue.hold(.lane(.default))
        // The file as it is when the process dies after the first transaction of the release.
        try queue.database.write { (connection) throws(SQLiteError) in
            var ledger = ReplayLedger(now: 0, uptime: 0)
            try ReplayTable.remove(.lane(.default), on: connection, ledger: &ledger)
        }
        try await queue.maintainIfNeeded()
        #expect(try queue.jobs().map(\.state) == [.ready, .held, .ready])
    }

    @Test func `a hold is ended by a release that begins before the hold is complete`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.enqueue(requests(1_201))
        // The release runs completely after the first transaction of the hold.
        let slices = Guarded(0)
        let isThere = Signal()
        let number = queue.listeners.add { _ in
            slices.withLock { $0 += 1 }; isThere.wake()
        }
        async let held = queue.hold(.lane(.default))
        await isThere.wait(within: TimeLimit(.seconds(600), by: ContinuousClock()))
        let released = try await queue.release(.lane(.default))
        _ = try await (held, released)
        #expect(try queue.holds().isEmpty && queue.counts()[.held] == 0)
        queue.listeners.remove(number)
    }

    @Test func `a release of an identity leaves its jobs held by their lane`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        var request = requests(1)[0]
        request.identity = "anna"
        try await queue.enqueue([request])
        let owner = try await queue.owner.enter()
        let job = try #require(try await queue.claim(1, of: .all, by: owner)?.first)
        #expect(await queue.begin(job))
        #expect(await queue.finish(job, outcome: .answered(status: 401)) == .held)
        queue.owner.leave()
        try await queue.hold(.lane(.default))
        #expect(try await queue.release(.identity("anna")) == 0)
        #expect(try await queue.release(.lane(.default)) == 1)
        #expect(try queue.job(1)?.state == .ready)
    }

    @Test func `a claim skips held jobs in short transactions`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.enqueue(
            requests(1_201).map { request in
                var request = request
                request.lane = "images"
                return request
            })
        try await queue.enqueue(requests(1))
        try queue.database.write { (connection) throws(SQLiteError) in
            try ReplayTable.add(.lane("images"), reason: "", on: connection, ledger: ReplayLedger(now: 0, uptime: 0))
        }
        let most = Guarded(0)
        let number = queue.listeners.add { transitions in most.withLock { $0 = max($0, transitions.count) } }
        let owner = try await queue.owner.enter()
        #expect(try await queue.claim(8, of: .all, by: owner)?.count == 1)
        #expect(most.withLock { $0 } < 600)
        #expect(try queue.counts()[.held] == 1_201)
        queue.owner.leave()
        queue.listeners.remove(number)
    }

    @Test func `a process that may be suspended holds no lock when its replayer has ended`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.allowSuddenTermination(true)
        var request = Request("http://api.test/", method: .put)
        request.replay = .durable
        try await queue.enqueue(request)
        let replayer = Replayer(queue, width: 1, reachability: StubReachability()) { attempt in
            JobResult(outcome: await attempt.begin() ? .success : .notBegun)
        }
        #expect(await replayer.replay().finished == 1)
        let locks = try FileManager.default.contentsOfDirectory(atPath: temporary.store.ownersDirectory.path)
        #expect(locks.isEmpty && queue.owner.id == nil)
    }

    @Test func `a process that may be suspended, and has no running job, holds no lock`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        func owners() throws -> [ReplayTable.Owner] {
            try queue.read { (connection) throws(SQLiteError) in try ReplayTable.owners(on: connection) }
        }
        let owner = try await queue.owner.enter()
        try await queue.allowSuddenTermination(true)
        #expect(try owners().map(\.id) == [owner] && queue.owner.id == owner)
        queue.owner.leave()
        try await queue.allowSuddenTermination(true)
        #expect(try owners().isEmpty && queue.owner.id == nil)
        let locks = try FileManager.default.contentsOfDirectory(atPath: temporary.store.ownersDirectory.path)
        #expect(locks.isEmpty)
        try await queue.allowSuddenTermination(false)
        #expect(try await queue.owner.enter() != owner)
        #expect(try owners().map(\.isSuspended) == [false])
        queue.owner.leave()
    }

    @Test(arguments: [("a", "b", true), ("a", "a", false), ("", "a", false), ("a", "", false), ("", "", false)])
    func `an owner belongs to another boot of the machine only where both boots are known`(
        own: String,
        other: String,
        isOther: Bool
    ) {
        let owner = ReplayTable.Owner(
            id: 1, name: "n", boot: other, process: 1, program: "p", startedAt: 0, leaseUntil: 0, isSuspended: false)
        #expect(owner.isOfOtherBoot(own) == isOther)
    }

    @Test func `a process that may be suspended registers as such`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.allowSuddenTermination(true)
        _ = try await queue.owner.enter()
        let owners = try queue.read { (connection) throws(SQLiteError) in try ReplayTable.owners(on: connection) }
        #expect(owners.map(\.isSuspended) == [true])
        queue.owner.leave()
    }
}
