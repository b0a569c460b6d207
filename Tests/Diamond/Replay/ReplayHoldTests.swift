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
        let queue = try ReplayQueue(temporary.store)
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
        #expect(try await queue.apply(hold, isTrial: true) == 1_201)
        #expect(try queue.counts()[.held] == 0 && queue.holds().isEmpty)
        #expect(try await queue.hold(hold) == 1_201)
        #expect(try await queue.hold(hold) == 0)
        try await queue.enqueue([held[0]])
        #expect(try queue.counts()[.held] == 1_202)
        #expect(try await queue.end(hold, isTrial: true) == 1_202)
        #expect(try await queue.release(hold) == 1_202)
        #expect(try queue.counts()[.held] == 0)
        #expect(most.withLock { $0 } == 500)
        queue.listeners.remove(number)
    }

    @Test func `that was cut short at its beginning keeps from being sent what it had not come to`() async throws {
        let queue = try ReplayQueue(temporary.store)
        try await queue.enqueue(requests(2))
        // All that is on disk when it dies after its first transaction.
        try queue.database.write { (connection) throws(SQLiteError) in
            let ledger = ReplayLedger(now: 0, uptime: 0)
            try ReplayTable.add(.lane(.default), reason: "", on: connection, ledger)
        }
        let owner = try await queue.owner.enter()
        #expect(try await queue.claim(2, of: .all, by: owner)?.isEmpty == true)
        #expect(try queue.jobs().map(\.state) == [.held, .held])
        queue.owner.leave()
    }

    @Test func `that was cut short at its end holds nothing for long`() async throws {
        let queue = try ReplayQueue(temporary.store)
        try await queue.enqueue(requests(3))
        try await queue.hold(.lane(.default))
        try await queue.release(.lane(.default))
        try await queue.hold(2)
        try await queue.hold(.lane(.default))
        // All that is on disk when it dies after its first transaction.
        try queue.database.write { (connection) throws(SQLiteError) in
            try ReplayTable.remove(.lane(.default), on: connection)
        }
        try await queue.tidySometimes()
        #expect(try queue.jobs().map(\.state) == [.ready, .held, .ready])
    }

    @Test func `a suspended process says so from the first`() async throws {
        let queue = try ReplayQueue(temporary.store)
        try await queue.suspend(true)
        _ = try await queue.owner.enter()
        let owners = try queue.read { (connection) throws(SQLiteError) in try ReplayTable.owners(on: connection) }
        #expect(owners.map(\.isSuspended) == [true])
        queue.owner.leave()
    }
}
