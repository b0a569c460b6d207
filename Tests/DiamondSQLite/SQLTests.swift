import Foundation
import Testing

@testable import DiamondSQLite

@Suite("A statement with its values in place") struct SQLTests {
    let file = TemporaryFile()

    @Test(arguments: ["x'; DROP TABLE item; --", "?", "?1", ":name", "", "\u{0}"])
    func `a statement never contains a value as text`(value: String) throws {
        let sql: SQL = "INSERT INTO item (a, c) VALUES (\(1), \(value))"
        #expect(sql.text == "INSERT INTO item (a, c) VALUES (?, ?)")
        let database = try file.open()
        try database.write { (connection) throws(SQLiteError) in
            try connection.run(sql)
            let found = try connection.rows("SELECT c FROM item WHERE c = \(value)") { $0.text(0) }
            #expect(found == [value])
        }
    }

    @Test func `a statement binds values of each type, in their order`() throws {
        let database = try file.open()
        try database.write { (connection) throws(SQLiteError) in
            let bytes = Data([0, 255])
            let sql: SQL = """
                SELECT \(Int64.max) = 9223372036854775807, \(7) = 7, \(true) = 1, \(false) = 0, \("ä") = 'ä',
                    \(bytes) = x'00ff', typeof(\([0x61], isText: true)) = 'text', \([0x61], isText: false) = x'61',
                    \(nil as String?) IS NULL, \(nil as Data?) IS NULL, \(nil as Int?) IS NULL, \(8 as Int64?) = 8
                """
            let row = try connection.statement(sql)
            #expect(try row.step())
            let columns = (0..<12).map { row.int64($0) }
            #expect(columns == Array(repeating: 1, count: 12))
        }
    }

    @Test func `a statement contains parts of statements with their values`() throws {
        let condition: SQL = "\(2) <= a AND a < \(4)"
        let terms: [SQL] = [1, 3].map { "a = \($0)" }
        var sql: SQL = "SELECT a FROM item WHERE (\(sql: condition)) OR \(sql: terms.joined(by: " OR "))"
        sql.append(" ORDER BY a LIMIT \(9)")
        #expect(sql.text == "SELECT a FROM item WHERE (? <= a AND a < ?) OR a = ? OR a = ? ORDER BY a LIMIT ?")
        let database = try file.open()
        for value in 1...5 { try database.insert(Int64(value)) }
        try database.read { (connection) throws(SQLiteError) in
            #expect(try connection.integers(sql) == [1, 2, 3])
            #expect(try connection.statement(once: sql).rows { $0.int64(0) } == [1, 2, 3])
        }
    }

    @Test func `statements that begin and end alike are told apart`() throws {
        let database = try file.open()
        for value in 1...3 { try database.insert(Int64(value)) }
        try database.read { (connection) throws(SQLiteError) in
            for _ in 0..<2 {
                #expect(try connection.integers("SELECT a FROM item WHERE a > \(1) AND a < \(3)") == [2])
                #expect(try connection.integers("SELECT a FROM item WHERE a > \(1) OR a < \(3)") == [1, 2, 3])
                #expect(try connection.integers("SELECT a FROM item WHERE a > \(1)") == [2, 3])
                #expect(try connection.integers("SELECT a FROM item WHERE a > \(2)") == [3])
                // The same literals, with and without a value between them.
                #expect(try connection.integers("SELECT 1\(sql: " + 2")") == [3])
                #expect(try connection.integers("SELECT 1\(sql: " + ")\(5)") == [6])
                #expect(try connection.integers("SELECT \(sql: "-")1") == [-1])
                #expect(try connection.integers("SELECT \(sql: "-")\(2)") == [-2])
                #expect(try connection.integers("SELECT \(4)\(sql: "-")1") == [3])
            }
        }
    }

    @Test func `a statement stores bytes that are lent, after other values and before them`() throws {
        let database = try file.open()
        let large = Data(repeating: 7, count: 100_000)
        try database.write { (connection) throws(SQLiteError) in
            for (number, bytes) in [large, Data(), Data([1])].enumerated() {
                try connection.run("INSERT INTO item (a, d, e) VALUES (\(number), \(lending: bytes), \(number))")
            }
            let stored = try connection.rows("SELECT d FROM item WHERE a = e ORDER BY a") { $0.data(0) }
            #expect(stored == [large, Data(), Data([1])])
        }
    }

    @Test func `a statement with an unknown column fails with its text, and without its values`() throws {
        let database = try file.open()
        let error = #expect(throws: SQLiteError.self) {
            try database.read { (connection) throws(SQLiteError) in
                _ = try connection.hasRow("SELECT 1 FROM item WHERE nothing = \("s3cret")")
            }
        }
        #expect(error?.description.contains("SELECT 1 FROM item WHERE nothing = ?") == true)
        #expect(error?.description.contains("s3cret") == false)
    }

    private enum Column: Int, SQLiteColumns { case a, twiceA, c }

    @Test func `a row is read by the names of its columns`() throws {
        let database = try file.open()
        try database.insert(3)
        try database.read { (connection) throws(SQLiteError) in
            let sql: SQL = "SELECT a, a * 2 AS twice_a FROM item WHERE a = \(3)"
            for _ in 0..<2 {
                let rows = try connection.rows(sql, columns: Column.self) { $0.int64(Int32(Column.twiceA.rawValue)) }
                #expect(rows == [6])
            }
        }
    }

    @Test(
        arguments: [
            ("SELECT a, a * 2 FROM item", "column 1 is a * 2 instead of twice_a"),
            ("SELECT c, a AS twice_a FROM item", "column 0 is c instead of a"),
            ("SELECT a, c AS twice_a, e FROM item", "column 2 is e instead of c"),
        ] as [(SQL, String)])
    func `a statement whose columns have other names is refused, each time`(sql: SQL, message: String) throws {
        let database = try file.open()
        for _ in 0..<2 {
            let results = try database.read { (connection) throws(SQLiteError) in
                [
                    Result { () throws(SQLiteError) in _ = try connection.statement(sql, columns: Column.self) },
                    Result { () throws(SQLiteError) in _ = try connection.statement(once: sql, columns: Column.self) },
                ]
            }
            for result in results {
                let error = #expect(throws: SQLiteError.self) { try result.get() }
                #expect(error?.code == .schemaMismatch && error?.message == message && error?.sql == sql.text)
            }
        }
    }
}
