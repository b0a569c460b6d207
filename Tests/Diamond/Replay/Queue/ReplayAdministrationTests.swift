import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("Administration of a replay queue") struct ReplayAdministrationTests {
    let files = TemporaryStore()

    private func request(_ policy: ReplayPolicy = .durable, body: Int = 1) -> Request {
        var request = Request("https://a.example/notes", method: .post, body: .json(["n": .integer(Int64(body))]))
        request.replay = policy
        return request
    }

    private func body(_ id: Int64?, in queue: ReplayQueue) throws -> RequestBody? {
        try id.flatMap { try queue.request(of: $0) }?.body
    }

    @Test func `a queue keeps the idempotency key of a request`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        var request = request()
        request.headers[.idempotencyKey] = "order-7"
        let id = try #require(try await queue.enqueue(request))
        #expect(try queue.job(id)?.idempotencyKey == "order-7")
    }

    @Test func `a queue accepts an infinite date as one far in the future or the past`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let late = try #require(try await queue.enqueue(request(), after: .seconds(Int64.max)))
        let never = try #require(try await queue.enqueue(request(), at: Date(timeIntervalSince1970: .infinity)))
        let always = try #require(try await queue.enqueue(request(), at: Date(timeIntervalSince1970: -.infinity)))
        for id in [late, never] { #expect(try #require(try queue.job(id)).runAt > .now + 50 * 365 * 86_400) }
        #expect(try #require(try queue.job(always)).runAt < .now)
    }

    @Test func `a queue limits the retention of ended jobs to a valid age and count`() {
        let least = ReplayRetention.Limit(age: .seconds(Int64.min), count: .min)
        #expect(least == ReplayRetention.Limit(age: .zero, count: 0))
        let most = ReplayRetention.Limit(age: .seconds(Int64.max), count: .max)
        #expect(most.age > .seconds(50 * 365 * 86_400) && most.age.milliseconds < .max / 2)
    }

    @Test func `a change is merged into a creation with the same unique name`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let policy = ReplayPolicy(.durable, unique: "note", uniqueness: .merge)
        let id = try await queue.enqueue(request(policy))
        var change = request(policy, body: 2)
        change.method = .put
        #expect(try await queue.enqueue(change) == id)
        #expect(try body(id, in: queue) == .json(["n": 2]))
    }

    @Test func `an edit overwrites no change that was made after the edit began`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let policy = ReplayPolicy(.durable, unique: "note", uniqueness: .replace)
        let id = try #require(try await queue.enqueue(request(policy)))
        let old = try #require(try queue.request(of: id))
        #expect(try await queue.enqueue(request(policy, body: 2)) == id)
        await #expect { try await queue.edit(id, from: old, to: request(policy, body: 3)) } throws: { error in
            (error as? ReplayError)?.code == .wrongState
        }
        #expect(try body(id, in: queue) == .json(["n": 2]))
        let again = try await queue.edit(id) { $0.body = .json(["n": 3]) }
        #expect(again == id)
        #expect(try body(id, in: queue) == .json(["n": 3]))
    }

    @Test func `an edit of a possibly sent job adds another job, even with the same unique name`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let policy = ReplayPolicy(.durable, unique: "note")
        let copy = ReplayCopy(request(policy), unknownSince: Date(timeIntervalSinceNow: -60))
        let id = try #require(try await queue.enqueue([copy])[0])
        let other = try await queue.edit(id) { $0.body = .json(["n": 2]) }
        #expect(other != id)
        #expect(try body(id, in: queue) == .json(["n": 1]))
        #expect(try body(other, in: queue) == .json(["n": 2]))
    }

    @Test func `an edit of a possibly sent job adds no job if a newer job has its unique name`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let policy = ReplayPolicy(.durable, unique: "note", uniqueness: .replace)
        let old = ReplayCopy(request(policy), unknownSince: Date(timeIntervalSinceNow: -60))
        let id = try #require(try await queue.enqueue([old])[0])
        let newer = try #require(try await queue.enqueue(request(policy, body: 2)))
        await #expect { try await queue.edit(id) { $0.body = .json(["n": 3]) } } throws: { error in
            (error as? ReplayError)?.code == .notUnique
        }
        #expect(try body(id, in: queue) == .json(["n": 1]) && body(newer, in: queue) == .json(["n": 2]))
        #expect(try queue.jobs().count == 2)
    }

    @Test func `a redriven job that may have been processed before is neither replaced nor changed`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        var policy = ReplayPolicy(.durable, unique: "note", uniqueness: .merge)
        policy.keyLifetime = nil
        let copy = ReplayCopy(request(policy), unknownSince: Date(timeIntervalSinceNow: -60))
        let id = try #require(try await queue.enqueue([copy])[0])
        let owner = try await queue.owner.enter()
        #expect(try await queue.claim(1, of: .all, by: owner)?.isEmpty == true)
        try await queue.redrive(id)
        #expect(try queue.job(id)?.state == .ready)
        var deletion = Request("https://a.example/notes", method: .delete)
        deletion.replay = ReplayPolicy(.durable, unique: "note", uniqueness: .merge)
        let other = try #require(try await queue.enqueue(deletion))
        #expect(try other != id && queue.counts()[.ready] == 2)
        // The edit would add another job, but the newer job has the unique name.
        await #expect { try await queue.edit(id) { $0.body = .json(["n": 3]) } } throws: {
            ($0 as? ReplayError)?.code == .notUnique
        }
        #expect(try body(id, in: queue) == .json(["n": 1]))
        queue.owner.leave()
        await queue.close()
    }

    @Test func `a job that is redriven has its unique name again`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let policy = ReplayPolicy(.durable, unique: "profile")
        let id = try #require(try await queue.enqueue(request(policy)))
        // The row is as after another job had the unique name and was done.
        try queue.database.write { (connection) throws(SQLiteError) in
            try connection.execute("UPDATE job SET unique_states = 0, state = 5")
            try ReplayTable.reseal(on: connection)
        }
        try await queue.redrive(id)
        #expect(try await queue.enqueue(request(policy)) == id)
    }

    @Test func `a job is merged only with a job of the same ordering key and lane`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let id = try await queue.enqueue(request(ReplayPolicy(.durable, unique: "me", uniqueness: .merge)))
        var moved = request(ReplayPolicy(.durable, unique: "me", uniqueness: .merge), body: 2)
        moved.lane = "images"
        let inLine = request(
            ReplayPolicy(.durable, orderingKey: "me", unique: "me", uniqueness: .merge), body: 2)
        for other in [moved, inLine] {
            await #expect { try await queue.enqueue(other) } throws: {
                // The method allows a merge, so the error has to name another reason.
                let error = $0 as? ReplayError
                return error?.code == .cannotMerge
                    && error?.message.contains("another ordering key, order or lane") == true
            }
        }
        #expect(try body(id, in: queue) == .json(["n": 1]) && queue.jobs().count == 1)
    }

    @Test func `an expired job does not exclude another job with its unique name`() async throws {
        let now = Guarded<WallTime>(1_000_000)
        var clock = ReplayClock.still
        clock.now = { now.withLock { $0 } }
        let queue = try ReplayQueue(files.store, clock: clock)
        let policy = ReplayPolicy(.durable, expiry: .seconds(60), unique: "sync")
        let first = try #require(try await queue.enqueue(request(policy)))
        #expect(try await queue.enqueue(request(policy)) == first)
        now.withLock { $0 += 60_000 }
        let second = try #require(try await queue.enqueue(request(policy)))
        #expect(second != first)
        #expect(try [first, second].map { try queue.job($0)?.state } == [.dead, .ready])
    }

    @Test func `a job that was held when it was copied stays held when another hold ends`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        try await queue.hold(.identity("anna"))
        var request = request()
        request.identity = "anna"
        let ids = try await queue.enqueue([ReplayCopy(request, isHeld: true), ReplayCopy(request)]).compactMap(\.self)
        try await queue.release(.identity("anna"))
        #expect(try ids.map { try queue.job($0)?.state } == [.held, .ready])
        try await queue.release(ids[0])
        #expect(try queue.job(ids[0])?.state == .ready)
    }

    private static let moves: [@Sendable (inout Request) -> Void] = [
        { $0.identity = "other" }, { $0.lane = "images" }, { $0.replay.orderingKey = "other" },
        { $0.replay.order = .strict }, { $0.replay.unique = "other" },
    ]

    @Test(arguments: moves.indices) func `an edit moves no job to another identity, lane, ordering key or unique name`(
        index: Int
    ) async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let id = try #require(try await queue.enqueue(request(ReplayPolicy(.durable, orderingKey: "cart"))))
        let before = try queue.request(of: id)
        await #expect { try await queue.edit(id, Self.moves[index]) } throws: { error in
            (error as? ReplayError)?.code == .badRequest
        }
        #expect(try queue.request(of: id) == before)
    }

    @Test(arguments: [1, 499, 1203]) func `an action applies to many jobs, and changes no job in a dry run`(count: Int)
        async throws
    {
        let queue = try ReplayQueue(files.store, clock: .still)
        let ids = try await queue.enqueue(Array(repeating: request(), count: count)).compactMap(\.self)
        #expect(try await queue.apply(.hold, to: ReplayFilter(), isDryRun: true).done == ids)
        #expect(try queue.counts()[.ready] == count)
        #expect(try await queue.apply(.hold, to: ids).done == ids)
        #expect(try queue.counts()[.held] == count)
        #expect(try await queue.apply(.retry, to: ReplayFilter()).done.isEmpty)
        #expect(try await queue.apply(.release, to: ReplayFilter(states: [.held])).done == ids)
        let verbs = try queue.history(since: .distantPast).reduce(into: [:]) { $0[$1.verb, default: 0] += $1.count }
        #expect(verbs == ["enqueue": count, "hold": count, "release": count])
    }

    @Test func `a preview of a claim changes nothing`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let ids = try await queue.enqueue(
            [
                ReplayPolicy(.durable), ReplayPolicy.with(priority: 2), ReplayPolicy(.durable, orderingKey: "a"),
                ReplayPolicy(.durable, orderingKey: "a"),
            ].map { request($0) }
        ).compactMap(\.self)
        let before = try queue.jobs()
        let all = try await queue.claimPreview(limit: 10)
        #expect(all.transitions.filter { $0.verb == .claim }.map(\.jobID) == [ids[1], ids[0], ids[2]])
        #expect(all.remaining == 1)
        #expect(try queue.jobs() == before)
        let one = try await queue.claimPreview(limit: 1)
        #expect(one.transitions.map(\.jobID) == [ids[1]] && one.remaining == 3)
    }

    @Test func `a preview of a claim for some identities excludes jobs without an identity`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        var ids: [Int64] = []
        for identity in ["me", "other", nil] {
            var request = request(ReplayPolicy(.durable, orderingKey: identity))
            request.identity = identity
            ids += try await queue.enqueue([request, request]).compactMap(\.self)
            ids += try await queue.enqueue([request], after: .seconds(86_400)).compactMap(\.self)
        }
        let mine = try await queue.claimPreview(limit: 10, of: .only(["me"]))
        #expect(mine.transitions.map(\.jobID) == [ids[0], ids[6], ids[7]])
        #expect(mine.remaining == 1)
        #expect(try queue.waiting(limit: 10, of: .only(["me"])).map(\.id) == [ids[2], ids[8]])
        #expect(try queue.waiting(limit: 10).map(\.id) == [ids[2], ids[5], ids[8]])
    }

    @Test func `a queue opened without creation creates no file, even next to an existing queue`() async throws {
        #expect { try ReplayQueue(existing: files.store) } throws: { ($0 as? ReplayError)?.code == .noStore }
        #expect(!FileManager.default.fileExists(atPath: files.directory.path))
        _ = try await ReplayQueue(files.store, clock: .still).enqueue(request())
        for name in ["replay.wake", "replay.holds", "replay.owners"] {
            try FileManager.default.removeItem(at: files.directory.appending(path: name))
        }
        let queue = try ReplayQueue(existing: files.store)
        #expect(try await queue.apply(.hold, to: [1]).done == [1])
        let names = try FileManager.default.contentsOfDirectory(atPath: files.directory.path)
        #expect(names.allSatisfy { $0.hasPrefix("replay.sqlite") }, "\(names)")
    }

    @Test func `a job poller receives each change once, and no earlier change`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let first = try #require(try await queue.enqueue(request()))
        var follower = try JobPoller(try ReplayQueue(files.store, clock: .still, create: false))
        #expect(try follower.next().isEmpty)
        let second = try #require(try await queue.enqueue(request()))
        try await queue.hold(first)
        #expect(try follower.next().map(\.id).sorted() == [first, second])
        #expect(try follower.next().isEmpty)
        try await queue.release(first)
        #expect(try follower.next().map(\.reason) == [.released])
    }

    @Test func `a job that changes while it is read is not reported as damaged`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let id = try #require(try await queue.enqueue(request()))
        let isOver = Guarded(false)
        let changes = Task {
            var number = 0
            while !isOver.withLock({ $0 }) {
                number += 1
                _ = try await queue.edit(id) { [number] in $0.body = .json(["n": .integer(Int64(number))]) }
            }
            return number
        }
        let first = request().body
        await untilTrue { (try? queue.request(of: id)?.body) != first }
        for _ in 0..<1000 {
            #expect(try queue.request(of: id) != nil)
            #expect(try ReplayInspection(of: files.store)?.findings == [])
        }
        isOver.withLock { $0 = true }
        #expect(try await changes.value > 1)
    }
}
