import Diamond
import DiamondPostgres
import Foundation

/// Batches of 100 jobs on one connection, beside the same statements by `pgbench`, from the files in `pgbench`.
enum PostgresBatches {
    private enum Work: String {
        case enqueue, replay
    }

    static let rows = [
        Row(
            name: "postgres-enqueue", method: "jobs a second that are added, 100 in a transaction, to pgbench",
            unit: "x pgbench", target: .atLeast(0.7)
        ) { try await measure(.enqueue) },
        Row(
            name: "postgres-replay",
            method: "jobs a second that are claimed and finished, 100 in a transaction, to pgbench",
            unit: "x pgbench", target: .atLeast(0.7)
        ) { try await measure(.replay) },
    ]

    private static let (size, batches, rounds) = (100, 50, 7)

    @concurrent private static func measure(_ work: Work) async throws -> (Double, [String]) {
        let (own, other) = (try await PostgresDatabase(), try await PostgresDatabase())
        let queue = try await own.queue()
        // The tables of the peer.
        _ = try await other.storage()
        let owner = try await queue.owner.enter()
        let count = size * batches
        func addAll() async throws {
            for _ in 0..<batches { try await queue.enqueue(Array(repeating: PostgresDatabase.request, count: size)) }
        }
        func sendAll() async throws { for _ in 0..<batches { try await send(queue, owner) } }
        let figures = try await compare(rounds: rounds, unit: "jobs a second") {
            let (adding, sending) = (try await seconds(of: addAll), try await seconds(of: sendAll))
            let peers = (try pgbench(.enqueue, other.url), try pgbench(.replay, other.url))
            return work == .enqueue
                ? (Double(count) / adding, peers.0) : (Double(count) / sending, peers.1)
        }
        let costs = (
            try await ServerCost.measure(on: own, addAll), try await ServerCost.measure(on: own, sendAll)
        )
        let note = work == .enqueue ? costs.0.note(of: "added", jobs: count) : costs.1.note(of: "sent", jobs: count)
        return (figures.value, figures.notes + [note])
    }

    private static func send(_ queue: ReplayQueue, _ owner: Int64) async throws {
        let jobs = try await queue.claim(size, of: .all, by: owner)
        guard let jobs, jobs.count == size else { throw Failure("\(jobs?.count ?? 0) jobs were claimed, not \(size)") }
        await withDiscardingTaskGroup { group in
            for job in jobs {
                group.addTask {
                    _ = await queue.finish(job, outcome: .answered(status: 200, isTransient: false, pushBack: nil))
                }
            }
        }
    }

    /// Returns the jobs a second of a script.
    private static func pgbench(_ work: Work, _ url: String) throws -> Double {
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../pgbench/\(work.rawValue).sql").standardizedFileURL
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["pgbench", "-n", "-M", "prepared", "-D", "mark=0", "-t", "\(batches)", "-f", script.path, url]
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["PGOPTIONS": "-c search_path=diamond,pg_catalog"]) { $1 }
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let rate = text.firstMatch(of: #/tps = ([0-9.]+)/#)?.1,
            let batches = Double(rate)
        else { throw Failure("pgbench has failed: \(text)") }
        return batches * Double(size)
    }
}
