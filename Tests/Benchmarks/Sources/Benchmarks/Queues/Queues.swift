import CPeers
import Diamond
import DiamondSQLite
import Foundation
import HTTPTypes

extension Benchmark {
    static let queues = [
        Benchmark(
            name: "queue-enqueue-single",
            method: "jobs a second, one after the other, each durable before the next, to C on the same schema",
            unit: "x C",
            target: .atLeast(0.8),
            measure: { try await Queues.enqueueing(count: 500, group: 1) }
        ),
        Benchmark(
            name: "queue-enqueue-100",
            method: "jobs a second of 100 producers, each of which waits until its job is durable",
            unit: "/s",
            target: .atLeast(20_000),
            measuring: { try await Queues.producers() }
        ),
        Benchmark(
            name: "queue-replay",
            method: "jobs a second that are claimed and finished, 100 in a transaction, to C on the same schema",
            unit: "x C",
            target: .atLeast(0.7),
            measure: { try await Queues.replaying(count: 2_000, group: 100) }
        ),
        Benchmark(
            name: "queue-claim-growth",
            method: "time of a claim of 10 among 1,000,000 waiting jobs, to one among 1,000",
            unit: "x",
            target: .atMost(1.5),
            isLong: true,
            measure: { try await Queues.growth(small: .waiting(1_000), large: .waiting(1_000_000)) }
        ),
        Benchmark(
            name: "queue-claim-blocked",
            method: "time of a claim of 10 with 100,000 other jobs of two blocked ordering keys, to one with 100",
            unit: "x",
            target: .atMost(1.5),
            isLong: true,
            measure: { try await Queues.growth(small: .blocked(100), large: .blocked(100_000)) }
        ),
        Benchmark(
            name: "queue-idle",
            method: "processor time of a replayer whose jobs wait for a day, with another owner of the queue",
            unit: "ms/s",
            target: .atMost(0.5),
            measure: { try await Queues.idling(for: 10) }
        ),
    ]
}

private enum Queues {
    private static let rounds = 11

    private static var request: Request {
        var request = Request("https://api.example.com/notes", method: .post, body: .json(["text": "Hello"]))
        request.replay = .durable
        return request
    }

    private static func peer(_ directory: URL) throws -> OpaquePointer {
        let store = Store(directory: directory)
        _ = try ReplayQueue(store)
        guard let peer = queue_peer_open(store.replayPath) else { throw Failure("C cannot open \(store.replayPath)") }
        return peer
    }

    private static func enqueue(_ count: Int, _ group: Int, _ peer: OpaquePointer) throws {
        let text = Array(try request.json())
        let isDone = text.withUnsafeBytes {
            queue_peer_enqueue(peer, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count, count, group)
        }
        guard isDone else { throw Failure("C cannot add jobs") }
    }

    // MARK: Adding

    static func enqueueing(count: Int, group: Int) async throws -> Double {
        try await Scratch.with { directory in
            let queue = try ReplayQueue(Store(directory: directory.appendingPathComponent("ours")))
            let peer = try peer(directory.appendingPathComponent("theirs"))
            defer { queue_peer_close(peer) }
            queue.maximumCount = .max
            let race = Race(rounds: rounds) {
                for _ in 0..<count { try await queue.enqueue(request) }
            } peer: {
                try enqueue(count, group, peer)
            }
            return 1 / (try await race.ratio(of: \.wall))
        }
    }

    static func producers() async throws -> Benchmark.Measurement {
        try await Scratch.with { directory in
            let queue = try ReplayQueue(Store(directory: directory))
            queue.maximumCount = .max
            let count = 200
            let effort = try await Effort.of {
                try await withThrowingTaskGroup { group in
                    for _ in 0..<100 {
                        group.addTask { for _ in 0..<count { try await queue.enqueue(request) } }
                    }
                    try await group.waitForAll()
                }
            }
            let spent = effort.processor / Double(100 * count) * 1e6
            return Benchmark.Measurement(
                value: Double(100 * count) / effort.wall,
                notes: ["processor time of each: \(spent.formatted(.number.precision(.fractionLength(1)))) µs"])
        }
    }

    // MARK: Claiming

    static func replaying(count: Int, group: Int) async throws -> Double {
        try await Scratch.with { directory in
            let queue = try ReplayQueue(Store(directory: directory.appendingPathComponent("ours")))
            let peer = try peer(directory.appendingPathComponent("theirs"))
            defer { queue_peer_close(peer) }
            queue.maximumCount = .max
            let all = count * (rounds + 1)
            try enqueue(all, 500, peer)
            for _ in 0..<all / 500 { try await queue.enqueue(Array(repeating: request, count: 500)) }
            let owner = try await queue.owner.enter()
            let race = Race(rounds: rounds) {
                for _ in 0..<count / group { try await replay(group, of: queue, owner) }
            } peer: {
                guard queue_peer_replay(peer, count, group) else { throw Failure("C cannot finish jobs") }
            }
            return 1 / (try await race.ratio(of: \.wall))
        }
    }

    private static func replay(_ count: Int, of queue: ReplayQueue, _ owner: Int64) async throws {
        let jobs = try await queue.claim(count, of: .all, by: owner)
        guard let jobs, jobs.count == count else {
            throw Failure("\(jobs?.count ?? 0) jobs were claimed, not \(count)")
        }
        await withDiscardingTaskGroup { group in
            for job in jobs {
                group.addTask {
                    _ = await queue.finish(job, outcome: .answered(status: 200, isTransient: false, pushBack: nil))
                }
            }
        }
    }

    // MARK: Waiting

    static func idling(for seconds: Int) async throws -> Double {
        try await Scratch.with { directory in
            let (queue, other) = (
                try ReplayQueue(Store(directory: directory)), try ReplayQueue(Store(directory: directory))
            )
            // The other queue is an owner that the replayer must watch.
            _ = try await other.owner.enter()
            try await queue.enqueue([request, request], after: .seconds(86_400))
            let replayer = Replayer(queue, width: 8, reachability: SystemReachability()) { _ in
                JobResult(outcome: .answered(status: 200, isTransient: false, pushBack: nil))
            }
            let run = Task { await replayer.run() }
            // Measures the time that it spends while nothing happens.
            try await Task.sleep(for: .seconds(1))
            let effort = try await Effort.of { try await Task.sleep(for: .seconds(seconds)) }
            replayer.stop()
            _ = await run.value
            other.owner.leave()
            return effort.processor * 1000 / Double(seconds)
        }
    }

    // MARK: Growth

    enum Crowd {
        /// Jobs that wait for a later time.
        case waiting(Int)
        /// Jobs of two ordering keys whose first jobs wait.
        case blocked(Int)

        var statement: String {
            switch self {
            case .waiting(let count): Self.insert(count, state: 1, key: "NULL", isHead: "1")
            case .blocked(let count): Self.insert(count, state: 0, key: "'key ' || (n % 2)", isHead: "0")
            }
        }

        private static func insert(_ count: Int, state: Int, key: String, isHead: String) -> String {
            """
            WITH RECURSIVE number (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < \(count))
            INSERT INTO job (state, reason, ordering_key, is_strict, is_head, priority, turn, run_at, enqueued_at, changed_at,
                attempt_limit, is_idempotent, method, url, host, lane, digest, checksum)
            SELECT \(state), 'enqueued', \(key), 0, \(isHead), 0, 0, 4000000000000 + n, 0, 0, 20, 1, 'PUT', 'u', 'h', 'default', 0, 0
            FROM number
            """
        }
    }

    static func growth(small: Crowd, large: Crowd) async throws -> Double {
        try await Scratch.with { directory in
            let few = try await crowded(directory.appendingPathComponent("few"), small)
            let many = try await crowded(directory.appendingPathComponent("many"), large)
            let (fewOwner, manyOwner) = (try await few.owner.enter(), try await many.owner.enter())
            let race = Race(rounds: rounds) {
                for _ in 0..<20 { try await replay(10, of: many, manyOwner) }
            } peer: {
                for _ in 0..<20 { try await replay(10, of: few, fewOwner) }
            }
            return try await race.ratio(of: \.processor)
        }
    }

    private static func crowded(_ directory: URL, _ crowd: Crowd) async throws -> ReplayQueue {
        let queue = try ReplayQueue(Store(directory: directory))
        queue.maximumCount = .max
        try await queue.enqueue(Array(repeating: request, count: 20 * 10 * (rounds + 1)))
        let storage = queue.storage as? SQLiteReplayStorage
        try storage?.database.write { (connection) throws(SQLiteError) in try connection.execute(crowd.statement) }
        return queue
    }
}
