#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondPostgres
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

/// The server that `scripts/fleet` has started for this run.
enum PostgresServer {
    struct Missing: Error, CustomStringConvertible {
        let description = "DIAMOND_POSTGRES is not set: run scripts/fleet"
    }

    private static func variable(_ name: String) throws -> String {
        guard let value = ProcessInfo.processInfo.environment[name] else { throw Missing() }
        return value
    }

    static func address() throws -> PostgresAddress { try PostgresAddress(variable("DIAMOND_POSTGRES")) }

    /// Creates an empty database.
    ///
    /// - Parameter parameters: more of libpq's parameters: `&user=anna`.
    static func database(_ parameters: String = "") async throws -> PostgresAddress {
        try PostgresAddress(try await databaseURL() + parameters)
    }

    /// Creates an empty database, and returns its URL.
    static func databaseURL() async throws -> String {
        let name = "t" + UUID().uuidString.lowercased().replacing("-", with: "")
        let pool = try PostgresPool(address(), name: "test", size: 1)
        defer { pool.close() }
        _ = try await pool.run(within: .seconds(60)) { (connection) throws(PostgresError) in
            // Many tests create one at the same time.
            _ = try connection.rows("SET statement_timeout = '1min'")
            try connection.runText("CREATE DATABASE \(name)")
        }
        return try variable("DIAMOND_POSTGRES").replacing("/postgres?", with: "/\(name)?")
    }

    /// Returns a relay to the server. ``database(_:)`` takes its ``parameters(of:)``.
    ///
    /// - Parameter isPublic: whether other hosts can connect, too.
    static func relay(isPublic: Bool = false) throws -> FaultyRelay {
        try FaultyRelay(to: .socket("\(address().parameters["host"] ?? "")/.s.PGSQL.5432"), isPublic: isPublic)
    }

    /// Returns the parameters of an address behind a relay.
    static func parameters(of relay: FaultyRelay, at host: String = "127.0.0.1") -> String {
        "&host=\(host)&port=\(relay.port)"
    }

    /// Runs `pg_ctl` on the server.
    ///
    /// - Returns: whether it has succeeded.
    @discardableResult
    static func control(_ arguments: String...) async throws -> Bool {
        let child = try ChildProcess(
            URL(filePath: variable("DIAMOND_POSTGRES_CTL")), arguments, output: .null, errors: .null)
        return await child.ended() == .exited(0)
    }

    /// Kills all processes of the server, and starts it again.
    static func kill() async throws {
        let directory = URL(filePath: try variable("DIAMOND_FLEET")).appending(path: "postgres")
        let note = directory.appending(path: "data/postmaster.pid")
        let first = try String(contentsOf: note, encoding: .utf8).prefix { $0 != "\n" }
        let children = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { name in
            let status = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8)
            // NUMBER (NAME) STATE PARENT
            return status?.components(separatedBy: ") ").last?.split(separator: " ").dropFirst().first == first
        }
        for process in ([String(first)] + children).compactMap({ Int32($0) }) { Foundation.kill(process, SIGKILL) }
        // The next server must not take them for those of a living one.
        for file in [note, directory.appending(path: ".s.PGSQL.5432.lock")] {
            try FileManager.default.removeItem(at: file)
        }
        // Until the kernel has ended the processes, their memory counts as used.
        while try await !control("start") { try Task.checkCancellation() }
    }

    /// Ends the server's processes of a database whose names contain a text.
    static func terminate(_ name: String, of address: PostgresAddress) async throws {
        let pool = PostgresPool(address, name: "test", size: 1)
        defer { pool.close() }
        _ = try await pool.run { (connection) throws(PostgresError) in
            try connection.rows(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND strpos(application_name, \(name)) > 0
                """
            ).count
        }
    }
}

/// A queue in a database of its own, whose clock a check moves.
final class PostgresPlace: ReplayStorageSuite.Place {
    let address: PostgresAddress
    /// The address without a relay, for other processes.
    let url: String
    /// The time by which the clock is ahead, in milliseconds.
    private let offset = Guarded(Int64(0))

    /// - Parameter relay: the relay between the storages and the server; `nil` for none.
    init(behind relay: FaultyRelay? = nil) async throws {
        url = try await PostgresServer.databaseURL()
        address = try PostgresAddress(url + (relay.map { PostgresServer.parameters(of: $0) } ?? ""))
    }

    func open() async throws -> any ReplayStorage { try await storage() }

    func storage(connections: Int = 2) async throws -> PostgresReplayStorage {
        try await PostgresReplayStorage(address, connections: connections) { [offset] in offset.withLock { $0 } }
    }

    /// Ends the leases of all owners, or of those of a process.
    func endLeases(of process: Int32? = nil) async throws {
        let pool = PostgresPool(address, size: 1)
        defer { pool.close() }
        try await pool.transaction { (connection) throws(PostgresError) in
            let number = process.map(Int64.init)
            try connection.run("UPDATE owner SET lease_until = 0 WHERE process = coalesce(\(number), process)")
        }
    }

    func advance(by duration: Duration) async throws { offset.withLock { $0 += duration.milliseconds } }
}

extension PostgresPlace {
    static func draft(
        _ path: String, key: String? = nil, unique: String? = nil
    ) throws -> ReplayDraft {
        var policy = ReplayPolicy(.durable, orderingKey: key)
        policy.unique = unique
        var request = Request("http://api.test/\(path)", method: .put, body: .json(["path": .string(path)]))
        request.replay = policy
        return try ReplayDraft(request)
    }

    static func add(_ count: Int, keys: Int, to storage: some ReplayStorage) async throws -> [ReplayJob.ID] {
        let drafts = try (0..<count).map { try draft("\($0)", key: "k\($0 % keys)") }
        return try await storage.enqueue(ReplayEntry(drafts, maximumCount: 1_000_000), isWanted: nil).ids.compactMap(
            \.self)
    }

    /// Sends all jobs.
    ///
    /// - Returns: their ids, in the order of their ends.
    static func sendAll(_ count: Int, by storage: PostgresReplayStorage) async throws -> [ReplayJob.ID] {
        let program = ReplayOwnerRecord.Program(process: 1, name: "test")
        let owner = try await storage.register(program, lease: 600_000)
        var sent: [ReplayJob.ID] = []
        while sent.count < count, !Task.isCancelled {
            let claims = try await patiently { try await storage.claim(20, ReplaySelection(), by: owner) }
            // Without a renewal, it ends when the jobs take longer.
            for claim in try #require(claims, "the sender's lease has ended").jobs {
                guard try await patiently({ try await storage.begin(claim, ReplayStart(), by: owner) }) else {
                    continue
                }
                let report = ReplayReport(.answered(status: 200), draw: 0)
                if try await patiently({ try await storage.finish(claim, report) }) == .done { sent.append(claim.id) }
            }
        }
        return sent
    }

    /// Calls a body until the server answers.
    static func patiently<Value>(_ body: () async throws -> Value) async throws -> Value {
        while true {
            do { return try await body() } catch let error as ReplayError where error.isTransient {
                try Task.checkCancellation()
            }
        }
    }
}
#endif
