import Diamond
import DiamondPostgres
import DiamondSQLite
import Foundation
import Synchronization

/// The steady work of a queue while another transaction of the server holds a snapshot, which keeps dead rows alive.
enum PostgresSnapshot {
    static let rows = [3, 30].flatMap { minutes in
        let work = Guarded<Task<Figures, any Error>?>(nil)
        // Both figures are of one run.
        let figures = { @Sendable () async throws -> Figures in
            try await work.withLock { task in
                if let task { return task }
                let new = Task { try await measure(minutes: minutes) }
                task = new
                return new
            }.value
        }
        let suffix = minutes == 3 ? "" : "-\(minutes)m"
        let method = "800 jobs a second on 1,000 keys, beside a snapshot held for \(minutes) minutes"
        return [
            Row(
                name: "postgres-snapshot\(suffix)", method: "\(method): jobs a second in the last minute, to without",
                unit: "x without", target: .atLeast(0.95)
            ) {
                let figures = try await figures()
                let rates = (figures.during.rate, figures.before.rate)
                return (rates.0 / rates.1, [String(format: "%.0f jobs a second beside %.0f", rates.0, rates.1)])
            },
            Row(
                name: "postgres-snapshot\(suffix)-p99",
                method: "\(method): the 99th percentile of a claim in the last minute, to without",
                unit: "x without", target: .atMost(2)
            ) {
                let figures = try await figures()
                let times = (figures.during.p99, figures.before.p99)
                return (times.0 / times.1, [String(format: "%.2f ms beside %.2f ms", times.0 * 1e3, times.1 * 1e3)])
            },
        ]
    }

    private struct Figures: Sendable {
        var before = Minute()
        var during = Minute()
    }

    /// What was done in a minute.
    private struct Minute: Sendable {
        var rate = 0.0
        var p99 = 0.0
    }

    @concurrent private static func measure(minutes: Int) async throws -> Figures {
        let database = try await PostgresDatabase()
        let storage = try await database.storage()
        let queue = ReplayQueue(storage: storage)
        queue.maximumCount = .max
        let (times, isOver) = (Guarded<[Double]>([]), Guarded(false))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await produce(into: queue) }
            for _ in 0..<2 { group.addTask { try await work(on: storage, times: times) } }
            _ = try await minute(times)
            var figures = Figures(before: try await minute(times))
            let pool = try PostgresPool(PostgresAddress(database.url), size: 1)
            defer { pool.close() }
            async let holding: Void = pool.run(within: .seconds(3_600)) { (connection) throws(PostgresError) in
                try connection.transaction { (connection) throws(PostgresError) in
                    try connection.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                    try connection.run("SET LOCAL idle_in_transaction_session_timeout = 0")
                    _ = try connection.rows("SELECT count(*) FROM job")
                    while !isOver.withLock({ $0 }) { usleep(10_000) }
                }
            }
            for _ in 0..<minutes { figures.during = try await minute(times) }
            isOver.withLock { $0 = true }
            try await holding
            group.cancelAll()
            return figures
        }
    }

    private static func minute(_ times: Guarded<[Double]>) async throws -> Minute {
        times.withLock { $0 = [] }
        finished.store(0, ordering: .relaxed)
        try await Task.sleep(for: .seconds(60))
        let sorted = times.withLock { $0.sorted() }
        guard !sorted.isEmpty else { throw Failure("no job was claimed within a minute") }
        return Minute(rate: Double(finished.load(ordering: .relaxed)) / 60, p99: sorted[sorted.count * 99 / 100])
    }

    private static let finished = Atomic(0)

    /// Adds 80 jobs ten times a second.
    private static func produce(into queue: ReplayQueue) async throws {
        let clock = ContinuousClock()
        var (next, number) = (clock.now, 0)
        while !Task.isCancelled {
            let requests = (0..<80).map { index in
                var request = PostgresDatabase.request
                request.replay = ReplayPolicy(.durable, orderingKey: "key \((number + index) % 1_000)")
                return request
            }
            number += 80
            try await queue.enqueue(requests)
            next += .milliseconds(100)
            try? await clock.sleep(until: next)
        }
    }

    private static func work(on storage: PostgresReplayStorage, times: Guarded<[Double]>) async throws {
        let owner = try await storage.register(.init(process: 1, name: "benchmark"), lease: 7_200_000)
        while !Task.isCancelled {
            var claims: [ReplayClaim] = []
            let time = try await seconds {
                claims = try await storage.claim(50, ReplaySelection(), by: owner)?.jobs ?? []
            }
            guard !claims.isEmpty else {
                try? await Task.sleep(for: .milliseconds(10))
                continue
            }
            times.withLock { $0.append(time) }
            try await withThrowingDiscardingTaskGroup { group in
                for claim in claims {
                    group.addTask {
                        _ = try await storage.begin(claim, ReplayStart(), by: owner)
                        let outcome = ReplayOutcome.answered(status: 200, isTransient: false, pushBack: nil)
                        _ = try await storage.finish(claim, ReplayReport(outcome, draw: 0))
                        finished.add(1, ordering: .relaxed)
                    }
                }
            }
        }
    }
}
