import Diamond
import DiamondPostgres
import Foundation

/// The rate of a queue after faults, in a process that lives through them.
enum PostgresRecovery {
    private enum Fault: String, CaseIterable {
        case cutConnections = "cut connections", restart = "an immediate restart", kill = "a killed server"
    }

    static let row = Row(
        name: "postgres-recovery",
        method: "jobs a second of two workers after each of 3 faults, the worst, to those before",
        unit: "x before", target: .atLeast(0.98)
    ) { try await measure() }

    private static let (count, rounds) = (5_000, 9)

    @concurrent private static func measure() async throws -> (Double, [String]) {
        let database = try await PostgresDatabase()
        let queues = [try await database.queue(), try await database.queue()]
        _ = try await rate(queues, database)
        let before = try await median(queues, database)
        var notes = [String(format: "%.0f jobs a second before", before)]
        var worst = Double.infinity
        for fault in Fault.allCases {
            try await make(fault)
            // The first round connects again.
            _ = try await rate(queues, database)
            let after = try await median(queues, database)
            notes.append(String(format: "%.0f after %@", after, fault.rawValue))
            worst = min(worst, after)
        }
        return (worst / before, notes)
    }

    private static func median(_ queues: [ReplayQueue], _ database: PostgresDatabase) async throws -> Double {
        var rates: [Double] = []
        for _ in 0..<rounds { rates.append(try await rate(queues, database)) }
        return rates.sorted()[rounds / 2]
    }

    /// Adds and sends jobs, and returns how many a second were sent.
    private static func rate(_ queues: [ReplayQueue], _ database: PostgresDatabase) async throws -> Double {
        for _ in 0..<count / 500 {
            try await queues[0].enqueue(Array(repeating: PostgresDatabase.request, count: 500))
        }
        try database.analyze()
        let replayers = queues.map { queue in
            Replayer(queue, width: 10, reachability: SystemReachability()) { attempt in
                _ = await attempt.begin()
                return JobResult(outcome: .answered(status: 201, isTransient: false, pushBack: nil))
            }
        }
        let time = await seconds {
            async let first = replayers[0].replay()
            async let second = replayers[1].replay()
            _ = await (first, second)
        }
        guard try queues[0].counts()[.ready] == 0 else { throw Failure("jobs are left") }
        return Double(count) / time
    }

    private static func make(_ fault: Fault) async throws {
        let server = try Failure.variable("DIAMOND_POSTGRES_CTL")
        switch fault {
        case .cutConnections:
            try PostgresDatabase.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
                on: try Failure.variable("DIAMOND_POSTGRES"))
        case .restart:
            guard try run(server, ["restart", "-m", "immediate"]) else { throw Failure("the restart has failed") }
        case .kill:
            let note = "\(try Failure.variable("DIAMOND_FLEET"))/postgres/data/postmaster.pid"
            let process = try String(contentsOfFile: note, encoding: .utf8).split(separator: "\n").first
            guard let process = process.flatMap({ Int32($0) }) else { throw Failure("no process is in \(note)") }
            kill(process, SIGKILL)
            // Its children end a moment later, and have its memory until then.
            for attempt in 0... {
                if try run(server, ["start"]) { break }
                guard attempt < 60 else { throw Failure("the server does not start again") }
                try await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    /// - Returns: whether the program has succeeded.
    private static func run(_ program: String, _ arguments: [String]) throws -> Bool {
        // Foundation's `Process` waits for all that inherit its descriptors, and so for the server, too.
        let texts = ([program] + arguments).map { strdup($0) }
        let variable = strdup("PATH=/usr/sbin:/usr/bin:/sbin:/bin")
        defer { for text in texts + [variable] { free(text) } }
        var child = pid_t()
        guard posix_spawn(&child, program, nil, nil, texts + [nil], [variable, nil]) == 0 else { return false }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }
}
