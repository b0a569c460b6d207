import CDiamondSQLite
import Testing

@testable import DiamondSQLite

@Suite("Prepared statements") struct StatementCacheTests {
    let file = TemporaryFile()

    @Test func `thousands of statements are found again, except while they are in use`() throws {
        var cache = SQLiteStatementCache()
        // Each is composed of other literals, all of few.
        let digits: [SQL] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
        let statements = (0..<1_000).map { [digits[$0 / 100], digits[$0 / 10 % 10], digits[$0 % 10]].joined(by: "") }
        for (index, sql) in statements.enumerated() {
            try #require(cache.checkOut(sql) == .missing)
            let statement = try #require(OpaquePointer(bitPattern: index + 1))
            #expect(cache.add(statement, for: sql) == index)
        }
        for sql in statements { try #require(cache.checkOut(sql) == .inUse) }
        for place in statements.indices { cache.checkIn(place) }
        for (index, sql) in statements.enumerated().reversed() {
            let statement = try #require(OpaquePointer(bitPattern: index + 1))
            try #require(cache.checkOut(sql) == .found(statement, place: index))
        }
        #expect(Array(cache.all).count == statements.count)
    }

    @Test func `a statement may be used while it is in use, and each use has its own rows`() throws {
        let database = try file.open()
        for value in 1...3 { try database.insert(Int64(value)) }
        try database.read { (connection) throws(SQLiteError) in
            // Twice: the statement works as before.
            for _ in 0..<2 {
                let rows = try rows(connection, depth: 1)
                #expect(rows == [1, 1, 2, 3, 2, 1, 2, 3, 3, 1, 2, 3])
            }
        }
    }

    @Test func `statements are compiled once, whatever is bound to them`() throws {
        let database = try file.open()
        for value in 1...3 { try database.insert(Int64(value)) }
        try database.write { (connection) throws(SQLiteError) in
            // A partial index is used only where SQLite knows that it contains the requested rows.
            try connection.execute("CREATE INDEX some ON item (a) WHERE a = 2")
        }
        try database.read { (connection) throws(SQLiteError) in
            for value in [1, 2, 3, 2] as [Int64] {
                let statement = try connection.statement("SELECT count(*) FROM item WHERE a = \(value)")
                _ = try statement.step()
                #expect(statement.int64(0) == 1)
                #expect(sqlite3_stmt_status(statement.pointer, SQLITE_STMTSTATUS_REPREPARE, 0) == 0)
            }
        }
    }

    private func rows(_ connection: borrowing SQLiteConnection, depth: Int) throws(SQLiteError) -> [Int64] {
        let statement = try connection.statement("SELECT a FROM item ORDER BY a")
        var found: [Int64] = []
        while try statement.step() {
            found.append(statement.int64(0))
            if depth > 0 { found += try rows(connection, depth: depth - 1) }
        }
        return found
    }
}
