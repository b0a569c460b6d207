import Diamond
import DiamondPostgres
import Foundation

/// Claims beside a long backlog: ten million jobs on a million ordering keys, of which a tenth wait for a retry.
enum PostgresBacklog {
    static let row = Row(
        name: "postgres-backlog",
        method: "time of a claim of 10 jobs with 10,000,000 waiting on 1,000,000 keys, to the same with 1,000 on 100",
        unit: "x 1,000 jobs", target: .atMost(1.5)
    ) { try await measure() }

    private static let (count, keys) = (10_000_000, 1_000_000)

    @concurrent private static func measure() async throws -> (Double, [String]) {
        let (few, many) = (try await PostgresDatabase(), try await PostgresDatabase())
        try await fill(few, count: 1_000, keys: 100)
        let filling = try await seconds { try await fill(many, count: count, keys: keys) }
        let (first, second) = (try await few.storage(), try await many.storage())
        var times: [(few: Double, many: Double)] = []
        // A claim of the small queue leaves it as it was.
        for number in 0..<120 {
            let pair = (few: try await time(of: first), many: try await time(of: second))
            if number >= 20 { times.append(pair) }
        }
        let (small, large) = (times.map(\.few).sorted()[50], times.map(\.many).sorted()[50])
        let worst = (times.map(\.few).max() ?? 0, times.map(\.many).max() ?? 0)
        return (
            large / small,
            [
                String(
                    format: "median %.2f ms beside %.2f ms, slowest %.1f and %.1f ms", large * 1e3, small * 1e3,
                    worst.1 * 1e3, worst.0 * 1e3),
                String(format: "filled in %.0f s, by SQL", filling),
            ]
        )
    }

    /// Adds copies of a job, some on each key. The first of a key is its head.
    private static func fill(_ database: PostgresDatabase, count: Int, keys: Int) async throws {
        let queue = try await database.queue()
        var request = PostgresDatabase.request
        request.replay = ReplayPolicy(.durable, orderingKey: "template")
        guard let template = try await queue.enqueue(request) else { throw Failure("the job was not added") }
        let columns = """
            reason, identity, is_strict, is_held, priority, expires_at, enqueued_at, changed_at, attempts, attempt_limit,
            token, owner, key_lifetime, is_idempotent, method, url, host, lane, kind, tags, metadata, digest, creates
            """
        try database.run(
            """
            SET search_path = diamond, pg_catalog;
            INSERT INTO job (id, state, run_at, is_head, ordering_key, \(columns))
                SELECT nextval('job_id'), CASE WHEN number < \(keys) AND number % 10 = 0 THEN 1 ELSE 0 END,
                    run_at + 86400000, number < \(keys), 'key ' || number % \(keys), \(columns)
                FROM job, generate_series(0, \(count - 1)) AS number WHERE id = \(template);
            INSERT INTO payload SELECT job.id, call, request FROM payload, job
                WHERE payload.job = \(template) AND job.id <> \(template);
            DELETE FROM payload WHERE job = \(template);
            DELETE FROM job WHERE id = \(template);
            """)
        try database.run("VACUUM ANALYZE")
    }

    /// Returns the seconds of a claim. Its jobs are given back.
    private static func time(of storage: PostgresReplayStorage) async throws -> Double {
        let owner = try await storage.register(.init(process: 1, name: "benchmark"), lease: 600_000)
        var claims: [ReplayClaim] = []
        let time = try await seconds {
            claims = try await storage.claim(10, ReplaySelection(), by: owner)?.jobs ?? []
        }
        guard claims.count == 10 else { throw Failure("\(claims.count) jobs were claimed, not 10") }
        try await storage.unregister(owner)
        return time
    }
}
