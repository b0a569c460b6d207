import DiamondPostgres
import Foundation

/// What some work costs the server of `scripts/fleet`. Linux only.
struct ServerCost {
    var processorSeconds: Double
    var logBytes: Double

    /// Measures some work, while the server does nothing else.
    static func measure(on database: PostgresDatabase, _ work: () async throws -> Void) async throws -> Self {
        let before = try await now(on: database)
        try await work()
        let after = try await now(on: database)
        return Self(
            processorSeconds: after.processorSeconds - before.processorSeconds,
            logBytes: after.logBytes - before.logBytes)
    }

    /// Returns a line about one of so many jobs.
    func note(of work: String, jobs: Int) -> String {
        let (time, bytes) = (processorSeconds / Double(jobs) * 1e6, logBytes / Double(jobs))
        return String(
            format: "\(work): %.0f us of the server's processors and %.0f bytes of its log a job", time, bytes)
    }

    private static func now(on database: PostgresDatabase) async throws -> Self {
        Self(processorSeconds: try processorSeconds(), logBytes: try await logBytes(on: database))
    }

    private static func logBytes(on database: PostgresDatabase) async throws -> Double {
        let pool = try PostgresPool(PostgresAddress(database.url), size: 1)
        defer { pool.close() }
        let bytes = try await pool.run(within: .seconds(60)) { (connection) throws(PostgresError) in
            try connection.rows("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint AS bytes").first?.integer("bytes")
        }
        guard let bytes else { throw Failure("the server has no position of its log") }
        return Double(bytes)
    }

    /// Returns the time of the server's processes, ended ones included.
    private static func processorSeconds() throws -> Double {
        let directory = try Failure.variable("DIAMOND_FLEET")
        let file = try String(contentsOfFile: "\(directory)/postgres/data/postmaster.pid", encoding: .utf8)
        guard let main = file.split(separator: "\n").first.flatMap({ Int($0) }) else {
            throw Failure("the server of scripts/fleet does not run")
        }
        let used = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap(Int.init).map {
            ticks(of: $0, below: main)
        }
        return Double(used.reduce(0, +)) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Returns the ticks of a process if it is the server or a child of it; otherwise 0.
    private static func ticks(of process: Int, below main: Int) -> Int {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return 0 }
        // The fields after the name: state, parent, …, utime (12th), stime, cutime, cstime.
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 14, process == main || Int(fields[1]) == main else { return 0 }
        return fields[11..<(process == main ? 15 : 13)].compactMap { Int($0) }.reduce(0, +)
    }
}
