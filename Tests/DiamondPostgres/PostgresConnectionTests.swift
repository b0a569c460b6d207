#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondPostgres
import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@Suite(
    "Connections to PostgreSQL", .enabled(if: Effort.hasFleet, "needs a server: scripts/fleet starts one"),
    .limit(minutes: 2)) struct PostgresConnectionTests
{
    private func pool(_ parameters: String = "", size: Int = 2) async throws -> PostgresPool {
        PostgresPool(try await PostgresServer.database(parameters), size: size)
    }

    @Test func `values arrive as they were sent, whatever they contain`() async throws {
        let pool = try await pool()
        defer { pool.close() }
        let texts = ["a", nil, #"quotes " ' \ {},"#, "", "é🟥", "x\0y"]
        let blobs = [Data(), Data([0, 255]), nil, Data(repeating: 7, count: 100_000), Data([1]), Data([2])]
        let (foundTexts, foundBlobs, foundNumbers) = try await pool.transaction { (connection) throws(PostgresError) in
            let rows = try connection.rows(
                """
                SELECT * FROM unnest(\(texts), \(blobs), \([Int64.min, -1, 0, 1, 2, .max])) AS row (text, blob, number)
                """)
            return (
                rows.map { $0.optionalText("text") }, rows.map { $0.optionalData("blob") },
                rows.map { $0.integer("number") }
            )
        }
        #expect(foundTexts == texts.map { $0?.replacing("\0", with: "\u{FFFD}") })
        #expect(foundBlobs == blobs)
        #expect(foundNumbers == [.min, -1, 0, 1, 2, .max])
    }

    @Test func `a statement that fails undoes its transaction, and the connection is used again`() async throws {
        let pool = try await pool(size: 1)
        defer { pool.close() }
        try await pool.transaction { (connection) throws(PostgresError) in
            try connection.run("CREATE TABLE public.item (id bigint PRIMARY KEY)")
        }
        let error = await #expect(throws: PostgresError.self) {
            try await pool.transaction { (connection) throws(PostgresError) in
                for id in [1, 2, 1] { try connection.run("INSERT INTO public.item VALUES (\(id))") }
            }
        }
        #expect(error?.sqlState == "23505")
        let count = try await pool.run { (connection) throws(PostgresError) in
            try connection.rows("SELECT count(*) AS count FROM public.item").first?.int64("count")
        }
        #expect(count == 0)
    }

    @Test func `neither errors nor descriptions contain a password or a value`() async throws {
        let address = try PostgresAddress("postgresql://anna:s3cret@/app?host=/nowhere&sslpassword=t0psecret")
        #expect(address.hasPassword)
        var dumped = ""
        dump(address, to: &dumped)
        let unreachable = await #expect(throws: PostgresError.self) {
            try await PostgresPool(address).run(within: .milliseconds(200)) { (connection) throws(PostgresError) in
                try connection.rows("SELECT 1").count
            }
        }
        let unreadable = #expect(throws: RequestError.self) { _ = try PostgresAddress("postgresql://anna:s3c%ret@/x") }
        let pool = try await pool()
        defer { pool.close() }
        let refused = await #expect(throws: PostgresError.self) {
            try await pool.run { (connection) throws(PostgresError) in
                try connection.rows("SELECT ('s3cret' || \("t0psecret"))::bigint").count
            }
        }
        for text in [
            "\(address)", String(reflecting: address), dumped, "\(unreachable as Any)", "\(unreadable as Any)",
            "\(refused as Any)",
        ] {
            #expect(!text.contains("s3c") && !text.contains("t0psecret"), "\(text)")
        }
        #expect(refused?.sqlState == "22P02")
    }

    @Test func `work that finds no free connection in time is refused, and the rest is done`() async throws {
        let pool = try await pool(size: 2)
        defer { pool.close() }
        let codes = await withTaskGroup(of: PostgresError.Code?.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    do throws(PostgresError) {
                        try await pool.run(within: .milliseconds(1_500)) { (connection) throws(PostgresError) in
                            _ = try connection.rows("SELECT pg_sleep(1)")
                        }
                        return nil
                    } catch {
                        return error.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.filter { $0 == nil }.count == 2)
        #expect(codes.compactMap(\.self).allSatisfy { $0 == .busy || $0 == .late })
        #expect(pool.count <= 2)
    }

    @Test func `work is done by the connections that the server allows, if they are fewer than the pool wants`()
        async throws
    {
        let role = "r" + UUID().uuidString.lowercased().replacing("-", with: "")
        let administrator = try await pool()
        defer { administrator.close() }
        try await administrator.run { (connection) throws(PostgresError) in
            try connection.runText("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 1")
        }
        let pool = PostgresPool(try await PostgresServer.database("&user=\(role)"), size: 4)
        defer { pool.close() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    try await pool.run(within: .seconds(60)) { (connection) throws(PostgresError) in
                        _ = try connection.rows("SELECT pg_sleep(0.01)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a transaction whose connection ends before its commit is run again`() async throws {
        let pool = try await pool()
        defer { pool.close() }
        let runs = Guarded(0)
        let ended = try await pool.transaction { (connection) throws(PostgresError) in
            let run = runs.withLock { runs in
                runs += 1
                return runs
            }
            if run == 1 { _ = try connection.rows("SELECT pg_terminate_backend(pg_backend_pid())") }
            return run
        }
        #expect(ended == 2)
    }

    @Test func `work succeeds after the server has ended all idle connections`() async throws {
        let count = 6
        let pool = try await pool(size: count)
        defer { pool.close() }
        let isOpen = DispatchGroup()
        for _ in 0..<count { isOpen.enter() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await pool.run { _ in
                        isOpen.leave()
                        isOpen.wait()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(pool.count == count)
        try await PostgresServer.terminate("diamond queue", of: pool.address)
        #expect(
            try await pool.run { (connection) throws(PostgresError) in try connection.rows("SELECT 1").count } == 1)
    }

    @Test func `a transaction that is lost during its commit is not run again, and its outcome is unknown`()
        async throws
    {
        let pool = try await pool()
        defer { pool.close() }
        let runs = Guarded(0)
        let error = await #expect(throws: PostgresError.self) {
            try await pool.transaction { (connection) throws(PostgresError) in
                runs.withLock { $0 += 1 }
                // Sent together with the COMMIT.
                try connection.run("SELECT pg_terminate_backend(pg_backend_pid())")
            }
        }
        #expect(error?.isOutcomeUnknown == true)
        #expect(runs.withLock { $0 } == 1)
    }

    @Test func `a listener is told of notifications, and that it may have missed some`() async throws {
        let pool = try await pool()
        defer { pool.close() }
        let events = Guarded<[PostgresListener.Event]>([])
        let listener = PostgresListener(pool.address, name: "listener", channel: "LISTEN news") { event in
            events.withLock { $0.append(event) }
        }
        defer { listener.close() }
        await untilTrue { events.withLock { $0 == [.connected] } }
        _ = try await pool.run { (connection) throws(PostgresError) in try connection.rows("NOTIFY news").count }
        await untilTrue { events.withLock { $0 == [.connected, .notified] } }
        try await PostgresServer.terminate("listener", of: pool.address)
        await untilTrue { events.withLock { $0.suffix(2) == [.lost, .connected] } }
    }
}
#endif
