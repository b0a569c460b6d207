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
        try Self.run("CREATE DATABASE \(name)", on: server)
    }

    /// Runs statements by psql: in a pipeline, those that are refused in a transaction are refused.
    static func run(_ statements: String, on url: String) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statements, url]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure("psql failed: \(statements.prefix(100))") }
    }

    /// Runs statements, however long they take.
    func run(_ statements: String) throws { try Self.run(statements, on: url) }

    /// Gives the planner of the server its statistics, as the autovacuum does after a while.
    func analyze() throws { try run("ANALYZE") }

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
