import DiamondSQLite
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `A hold of many jobs` {
    let temporary = TemporaryStore()

    private func requests(_ count: Int) -> [Request] {
        var request = Request("http://api.test/notes", method: .put, body: .json(["text": "a"]))
        request.replay = .durable
        return Array(repeating: request, count: count)
    }

    @Test(arguments: [ReplayHold.lane(.default), .key("a"), .identity("anna")])
    func `takes short transactions, and leaves none out`(hold: ReplayHold) async throws {
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

    @Test func `that was cut short at its beginning keeps from being sent what it had not come to`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.enqueue(requests(2))
        // All that is on disk when it dies after its first transaction.
        try queue.database.write { (connection) throws(SQLiteError) in
            let ledger = ReplayLedger(now: 0, uptime: 0)
            try ReplayTable.add(.lane(.default), reason: "", on: connection, ledger: ledger)
        }
        let owner = try await queue.owner.enter()
        #expect(try await queue.claim(2, of: .all, by: owner)?.isEmpty == true)
        #expect(try queue.jobs().map(\.state) == [.held, .held])
        queue.owner.leave()
    }

    @Test func `that was cut short at its end holds nothing for long`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.enqueue(requests(3))
        try await queue.hold(.lane(.default))
        try await queue.release(.lane(.default))
        try await queue.hold(2)
        try await queue.hold(.lane(.default))
        // All that is on disk when it dies after its first transaction.
        try queue.database.write { (connection) throws(SQLiteError) in
            var ledger = ReplayLedger(now: 0, uptime: 0)
            try ReplayTable.remove(.lane(.default), on: connection, ledger: &ledger)
        }
        try await queue.maintainIfNeeded()
        #expect(try queue.jobs().map(\.state) == [.ready, .held, .ready])
    }

    @Test func `is ended for good by a release that comes while it goes on, and so the other way`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.enqueue(requests(1_201))
        // In the middle of each, when it has written a slice, the other one runs from its beginning to its end.
        let slices = Guarded(0)
        let isThere = Signal()
        let number = queue.listeners.add { _ in
            slices.withLock { $0 += 1 }; isThere.wake()
        }
        async let held = queue.hold(.lane(.default))
        await isThere.wait(for: .seconds(600), by: ContinuousClock())
        let released = try await queue.release(.lane(.default))
        _ = try await (held, released)
        #expect(try queue.holds().isEmpty && queue.counts()[.held] == 0)
        queue.listeners.remove(number)
    }

    @Test func `of those who have to sign in lets go of them though their lane is held, too`() async throws {
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

    @Test func `many that are held are passed over by a claim in short transactions`() async throws {
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

    @Test func `a process that may be suspended keeps no lock when a replayer has come to its end`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.allowSuddenTermination(true)
        var request = Request("http://api.test/", method: .put)
        request.replay = .durable
        try await queue.enqueue(request)
        let replayer = Replayer(queue, width: 1, reachability: FakeNetwork()) { attempt in
            JobResult(outcome: await attempt.begin() ? .success : .notBegun)
        }
        #expect(await replayer.replay().finished == 1)
        let locks = try FileManager.default.contentsOfDirectory(atPath: temporary.store.ownersDirectory.path)
        #expect(locks.isEmpty && queue.owner.id == nil)
    }

    @Test func `a process that may be suspended, and has nothing under way, keeps no lock`() async throws {
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
    func `an owner is of another start of the machine only where both are known`(
        own: String,
        other: String,
        isOther: Bool
    ) {
        let owner = ReplayTable.Owner(
            id: 1, name: "n", boot: other, process: 1, program: "p", startedAt: 0, leaseUntil: 0, isSuspended: false)
        #expect(owner.isOfOtherBoot(own) == isOther)
    }

    @Test func `a suspended process says so from the first`() async throws {
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.allowSuddenTermination(true)
        _ = try await queue.owner.enter()
        let owners = try queue.read { (connection) throws(SQLiteError) in try ReplayTable.owners(on: connection) }
        #expect(owners.map(\.isSuspended) == [true])
        queue.owner.leave()
    }
}
