import Diamond
import DiamondPostgres
import Foundation

/// A queue in Python over PostgreSQL, set up as in its documentation.
enum PostgresPeer: String, CaseIterable {
    case procrastinate, pgqueuer

    static let rows = allCases.map { peer in
        Row(
            name: "postgres-\(peer.rawValue)",
            method:
                "jobs a second of two workers, \(peer.width) at a time each, to \(peer.rawValue) on the same server",
            unit: "x \(peer.rawValue)", target: .atLeast(peer.target)
        ) { try await peer.measure() }
    }

    private var target: Double {
        switch self {
        case .procrastinate: 5
        case .pgqueuer: 1.5
        }
    }

    /// The number of jobs that a worker sends at a time; the default size of a batch of pgqueuer.
    private var width: Int { 10 }

    private var count: Int {
        switch self {
        case .procrastinate: 500
        case .pgqueuer: 2_000
        }
    }

    @concurrent private func measure() async throws -> (Double, [String]) {
        let (own, other) = (try await PostgresDatabase(), try await PostgresDatabase())
        let queues = [try await own.queue(), try await own.queue()]
        let replayers = queues.map { queue in
            Replayer(queue, width: width, reachability: SystemReachability()) { attempt in
                _ = await attempt.begin()
                return JobResult(outcome: .answered(status: 201, isTransient: false, pushBack: nil))
            }
        }
        let workers = try (0..<2).map { _ in try PythonProcess("queues", [rawValue, other.url, "\(width)"]) }
        defer { for worker in workers { worker.stop() } }
        _ = try workers[0].seconds("create", 1)
        return try await compare(unit: "jobs a second") {
            let ours = 5_000
            for _ in 0..<ours / 500 {
                try await queues[0].enqueue(Array(repeating: PostgresDatabase.request, count: 500))
            }
            try own.analyze()
            let sending = await seconds {
                async let first = replayers[0].replay()
                async let second = replayers[1].replay()
                _ = await (first, second)
            }
            guard try queues[0].counts()[.ready] == 0 else { throw Failure("jobs are left") }
            _ = try workers[0].seconds("enqueue", count)
            try other.analyze()
            for worker in workers { worker.begin("replay", count) }
            let theirs = try workers.map { try $0.answer() }.reduce(0, max)
            return (Double(ours) / sending, Double(count) / theirs)
        }
    }
}
