import Diamond
import DiamondPostgres
import Foundation

/// A database of its own on the server of `scripts/fleet`.
struct PostgresDatabase {
    let url: String

    /// Creates an empty database.
    init() async throws {
        let server = try Failure.variable("DIAMOND_POSTGRES")
        let name = "b" + UUID().uuidString.lowercased().replacing("-", with: "")
        url = server.replacing("/postgres?", with: "/\(name)?")
        try await Self.run("CREATE DATABASE \(name)", on: server)
    }

    static func run(_ statement: String, on url: String) async throws {
        let pool = try PostgresPool(PostgresAddress(url), size: 1)
        defer { pool.close() }
        try await pool.run(within: .seconds(3_600)) { (connection) throws(PostgresError) in
            try connection.run("SET statement_timeout = 0")
            try connection.runText(statement)
        }
    }

    /// Runs statements, however long they take.
    func run(_ statements: String) async throws { try await Self.run(statements, on: url) }

    /// Gives the planner of the server its statistics, as the autovacuum does after a while.
    func analyze() async throws { try await run("ANALYZE") }

    func storage() async throws -> PostgresReplayStorage {
        try await PostgresReplayStorage(PostgresAddress(url))
    }

    func queue() async throws -> ReplayQueue {
        let queue = ReplayQueue(storage: try await storage())
        queue.maximumCount = .max
        return queue
    }

    static var request: Request {
        var request = Request("https://api.example.com/notes", method: .post, body: .json(["text": "Hello"]))
        request.replay = .durable
        return request
    }
}
