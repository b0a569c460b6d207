#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondPostgres
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation

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
        let name = "t" + UUID().uuidString.lowercased().replacing("-", with: "")
        let pool = try PostgresPool(address(), name: "test", size: 1)
        defer { pool.close() }
        _ = try await pool.run(within: .seconds(30)) { (connection) throws(PostgresError) in
            try connection.runText("CREATE DATABASE \(name)")
        }
        let url = try variable("DIAMOND_POSTGRES").replacing("/postgres?", with: "/\(name)?")
        return try PostgresAddress(url + parameters)
    }

    /// Runs `pg_ctl` on the server.
    static func control(_ arguments: String...) async throws {
        let child = try ChildProcess(
            URL(filePath: variable("DIAMOND_POSTGRES_CTL")), arguments, output: .null, errors: .null)
        _ = await child.ended()
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
    /// The time by which the clock is ahead, in milliseconds.
    private let offset = Guarded(Int64(0))

    init() async throws { address = try await PostgresServer.database() }

    func open() async throws -> any ReplayStorage { try await storage() }

    func storage(connections: Int = 2) async throws -> PostgresReplayStorage {
        try await PostgresReplayStorage(address, connections: connections) { [offset] in offset.withLock { $0 } }
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
        let owner = try await storage.register(program, lease: 60_000)
        var sent: [ReplayJob.ID] = []
        while sent.count < count, !Task.isCancelled {
            let claims = try await patiently { try await storage.claim(20, ReplaySelection(), by: owner) }
            for claim in claims?.jobs ?? [] {
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
    private static func patiently<Value>(_ body: () async throws -> Value) async throws -> Value {
        while true {
            do { return try await body() } catch let error as ReplayError where error.isTransient {
                try Task.checkCancellation()
            }
        }
    }
}
#endif
