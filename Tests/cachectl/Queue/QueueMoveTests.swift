import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl queue move", .limit(minutes: 5)) struct QueueMoveTests {
    let cachectl = Shell()
    let other = Shell()

    private var from: String { cachectl.temporary.directory.path }
    private var to: String { other.temporary.directory.path }

    private static func request(_ number: Int, key: String? = nil, order: ReplayPolicy.Order = .ordered) -> Request {
        var request = Request("https://a.example/\(number)", method: .put)
        request.replay = ReplayPolicy(.durable, orderingKey: key)
        request.replay.order = order
        return request
    }

    /// The paths of the open jobs of a queue, in their order.
    private static func open(_ shell: Shell) throws -> [String] {
        let filter = ReplayFilter(states: [.ready, .waiting, .held])
        return try shell.queue().jobs(filter, limit: 10_000).map { String($0.url.dropFirst(18)) }
    }

    /// Runs the command until a condition holds, and kills it then.
    static func move(
        _ from: String, _ to: String, killedWhen condition: () throws -> Bool
    ) async throws -> ChildProcess.Ending {
        let move = try ChildProcess(
            BuiltTool("cachectl").url, ["queue", "move", from, to, "--yes"], output: .null, errors: .null)
        let hasEnded = Guarded(false)
        let ending = Task {
            let ending = await move.ended()
            hasEnded.withLock { $0 = true }
            return ending
        }
        try await untilTrue { try hasEnded.withLock { $0 } || condition() }
        move.kill()
        return await ending.value
    }

    @Test func `moves the waiting jobs and the holds, and leaves the others`() async throws {
        let queue = try cachectl.queue()
        let ids = try await queue.enqueue((1...4).map { Self.request($0, key: "k\($0)") }).compactMap(\.self)
        try await queue.discard(ids[0])
        try await queue.hold(.key("k3"), reason: "for now")
        let trial = try await cachectl("queue", "move", from, to, "--dry-run")
        #expect(trial.text == "would move 3 jobs\nFROM has 2 ready, 1 held, 1 done\n" && other.files().isEmpty)
        let unasked = try await cachectl("queue", "move", from, to)
        #expect(unasked.status == 64 && unasked.errors.contains("3 jobs match: give --yes to move"))
        let outcome = try await cachectl("queue", "move", from, to, "--yes")
        #expect(outcome.text == "moved 3 jobs\nFROM has 4 done\n" && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(
            try Self.open(other) == ["2", "3", "4"] && other.queue().jobs().map(\.state) == [.ready, .held, .ready])
        let hold = try #require(try other.queue().holds().first)
        #expect(hold.hold == .key("k3") && hold.reason == "for now")
        #expect(try queue.holds().map(\.hold) == [.key("k3")])
        let again = try await cachectl("queue", "move", from, to, "--yes", "--json").text
        #expect(again.contains("\"jobs\" : 0") || again.contains("\"jobs\":0"), "\(again)")
    }

    @Test func `keeps the own hold of a job whose lane is held, too`() async throws {
        let queue = try cachectl.queue()
        let ids = try await queue.enqueue((1...2).map { Self.request($0) }).compactMap(\.self)
        try await queue.hold(ids[0])
        try await queue.hold(.lane("default"), reason: "for now")
        #expect(try await cachectl("queue", "move", from, to, "--yes").status == 0)
        let target = try other.queue()
        #expect(try target.jobs().map(\.state) == [.held, .held])
        try await target.release(.lane("default"))
        #expect(try target.jobs().map(\.state) == [.held, .ready])
    }

    @Test func `loses and doubles no job if it is killed at any moment, and run again`() async throws {
        let count = 1200
        try await cachectl.queue().enqueue((0..<count).map { Self.request($0, key: "k\($0 % 7)") })
        var generator = SplitMix(state: Effort.seed)
        var kills = 0
        let goals = (0..<Effort.rounds(6, soaking: 60)).map { _ in Int.random(in: 1..<count, using: &generator) }
            .sorted()
        let target = try other.queue()
        for goal in goals {
            let ending = try await Self.move(from, to) { try target.lastID() >= goal }
            if ending == .killed(by: SIGKILL) { kills += 1 }
            // Until the move is complete, no program sends what is left.
            if try !Self.open(cachectl).isEmpty { #expect(try cachectl.queue().holds().contains { $0.hold == .queue }) }
        }
        #expect(kills > 0)
        let outcome = try await cachectl("queue", "move", from, to, "--yes")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try Self.open(cachectl).isEmpty && cachectl.queue().holds().isEmpty)
        #expect(try Self.open(other) == (0..<count).map(String.init))
        #expect(try other.queue().jobs(limit: count + 1).count == count)
    }

    @Test func `is refused while a program sends jobs, and takes over those of one that has ended`() async throws {
        let queue = try cachectl.queue()
        try await queue.enqueue((1...2).map { Self.request($0) })
        let owner = try await queue.owner.enter()
        _ = try await queue.claim(1, of: .all, by: owner)
        let refused = try await cachectl("queue", "move", from, to, "--yes")
        #expect(refused.status == 4 && refused.errors.contains("a program sends or moves its jobs: end it"))
        #expect(try Self.open(other).isEmpty && queue.holds().isEmpty)
        // As if its process had ended.
        queue.storage.abandon(owner)
        #expect(try await cachectl("queue", "move", from, to, "--yes").text == "moved 2 jobs\nFROM has 2 done\n")
        #expect(try Self.open(other) == ["1", "2"])
    }

    @Test func `leaves the jobs behind a dead one in strict order`() async throws {
        try await cachectl.queue().enqueue([
            Self.request(1, key: "k", order: .strict), Self.request(2, key: "k", order: .strict), Self.request(3),
        ])
        try await cachectl.attempt(.answered(status: 400))
        let outcome = try await cachectl("queue", "move", from, to, "--yes")
        #expect(outcome.text == "moved 1 job\nFROM has 1 ready, 1 done, 1 dead\n", "\(outcome.text)\(outcome.errors)")
        #expect(try Self.open(other) == ["3"])
    }

    @Test func `keeps a hold of the queue, and completes an interrupted move to the same target only`() async throws {
        let queue = try cachectl.queue()
        try await queue.enqueue([Self.request(1)])
        try await queue.hold(.queue, reason: "its jobs are moved to \(to)/replay.sqlite; it was held before: a test")
        let third = Shell()
        let refused = try await cachectl("queue", "move", from, third.temporary.directory.path, "--yes")
        #expect(refused.status == 1 && refused.errors.contains("that was interrupted: complete it first"))
        #expect(try await cachectl("queue", "move", from, to, "--yes").status == 0)
        #expect(try queue.holds().map(\.reason) == ["a test"])
    }

    @Test func `refuses a queue as its own target, and a source without a queue`() async throws {
        try await cachectl.queue().enqueue([Self.request(1)])
        let same = try await cachectl("queue", "move", from, "\(from)/.", "--yes")
        #expect(same.status == 1 && same.errors.contains("is the source and the target"), "\(same.errors)")
        #expect(try Self.open(cachectl) == ["1"] && cachectl.queue().holds().isEmpty)
        let missing = try await cachectl("queue", "move", to, from)
        #expect(missing.status == 4 && missing.errors.contains("there is no queue in"))
    }
}
