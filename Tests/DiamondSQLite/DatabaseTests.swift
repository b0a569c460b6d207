import Foundation
import Testing

@testable import DiamondSQLite

@Suite("A database") struct DatabaseTests {
    let file = TemporaryFile()

    @Test func `does not wait for a lock with a busy timeout of zero, and later writes wait again`() throws {
        let (database, other) = (try file.open(), try file.open())
        try other.write { (_) throws(SQLiteError) in
            let error = #expect(throws: SQLiteError.self) {
                try database.write(busyTimeout: .zero) { (_) throws(SQLiteError) in }
            }
            #expect(error?.code.primary == .busy)
        }
        try database.write(busyTimeout: .zero) { (connection) throws(SQLiteError) in
            #expect(try connection.integer("PRAGMA busy_timeout") == 0)
        }
        try database.write { (connection) throws(SQLiteError) in
            #expect(try connection.integer("PRAGMA busy_timeout") > 0)
        }
    }

    @Test func `knows that others have changed the file, and nothing of its own writes`() throws {
        let (database, other) = (try file.open(), try file.open())
        func add(_ id: Int64, to database: SQLiteDatabase) throws {
            try database.write { (connection) throws(SQLiteError) in
                try connection.run("INSERT INTO item VALUES (\(id), NULL, NULL, NULL, NULL)")
            }
        }
        let first = try #require(database.versionByOthers)
        try add(1, to: database)
        #expect(database.versionByOthers == first)
        try add(2, to: other)
        let second = try #require(database.versionByOthers)
        #expect(second != first && database.versionByOthers == second)
        try add(3, to: other)
        try add(4, to: database)
        #expect(database.versionByOthers != second)
        try database.write { (_) throws(SQLiteError) in #expect(database.versionByOthers == nil) }
    }

    @Test func `stores every type of value`() throws {
        let database = try file.open()
        try database.write { (connection) throws(SQLiteError) in
            try connection.run(
                """
                INSERT INTO item
                VALUES (\(Int64.min), NULL, \("zwölf\u{0} \u{1F600}"), \(Data([0, 255, 1])), \(nil as Int64?))
                """
            )
        }
        try database.read { (connection) throws(SQLiteError) in
            let row = try connection.statement("SELECT * FROM item")
            let found = try row.step()
            let (integer, text, data) = (row.int64(0), row.text(2), row.data(3))
            let (isNull, another) = (row.isNull(1) && row.isNull(4), try row.step())
            #expect(found && isNull && !another)
            #expect(integer == .min)
            #expect(text == "zwölf\u{0} \u{1F600}")
            #expect(data == Data([0, 255, 1]))
        }
    }

    @Test func `names the reason when a statement with lent bytes fails`() throws {
        let database = try file.open()
        let error = #expect(throws: SQLiteError.self) {
            try database.write { (connection) throws(SQLiteError) in
                try connection.execute("CREATE TABLE blob (data BLOB CHECK (length(data) < 2)) STRICT")
                try connection.run("INSERT INTO blob VALUES (\(lending: Data([1, 2])))")
            }
        }
        #expect(error?.message.contains("CHECK constraint failed") == true, "\(String(describing: error))")
    }

    @Test func `distinguishes empty text and an empty blob from null`() throws {
        let database = try file.open()
        try database.write { (connection) throws(SQLiteError) in
            try connection.run("INSERT INTO item (c, d) VALUES (\(""), \(Data()))")
        }
        try database.read { (connection) throws(SQLiteError) in
            let row = try connection.statement("SELECT c, d FROM item")
            _ = try row.step()
            let (textIsNull, blobIsNull, text, blob) = (row.isNull(0), row.isNull(1), row.text(0), row.data(1))
            #expect(!textIsNull && text.isEmpty)
            #expect(!blobIsNull && blob.isEmpty)
        }
    }

    @Test func `rolls back a write that throws, and works afterwards`() throws {
        let database = try file.open()
        #expect(throws: SQLiteError.self) {
            try database.write { (connection) throws(SQLiteError) in
                try connection.execute("INSERT INTO item (a) VALUES (1)")
                try connection.execute("no such statement")
            }
        }
        #expect(try database.count() == 0)
        try database.write { (connection) throws(SQLiteError) in
            try connection.execute("INSERT INTO item (a) VALUES (2)")
        }
        #expect(try database.count() == 1)
    }

    @Test func `rolls back only the savepoint that throws`() throws {
        let database = try file.open()
        try database.write { (connection) throws(SQLiteError) in
            try connection.execute("INSERT INTO item (a) VALUES (1)")
            try? connection.withSavepoint { (connection) throws(SQLiteError) in
                try connection.execute("INSERT INTO item (a) VALUES (2)")
                try connection.execute("no such statement")
                return ((), true)
            }
            try connection.withSavepoint { (connection) throws(SQLiteError) in
                try connection.execute("INSERT INTO item (a) VALUES (3)")
                return ((), true)
            }
        }
        #expect(try database.count() == 2)
    }

    @Test func `reuses the statement of a literal, and prepares another while that is in use`() throws {
        let database = try file.open()
        try database.read { (connection) throws(SQLiteError) in
            for _ in 0..<2 {
                let outer = try connection.statement("SELECT 1 UNION SELECT 2")
                while try outer.step() {
                    let inner = try connection.statement("SELECT 1 UNION SELECT 2")
                    let first = try inner.step() ? inner.int64(0) : 0
                    #expect(first == 1)
                }
            }
        }
    }

    @Test func `reports the extended code and the statement, never the arguments`() throws {
        let database = try file.open()
        let error = #expect(throws: SQLiteError.self) {
            try database.write { (connection) throws(SQLiteError) in
                try connection.run("INSERT INTO item (a) VALUES (\("s3cret"))")
            }
        }
        #expect(error?.code.rawValue == 3091)  // SQLITE_CONSTRAINT_DATATYPE
        #expect(error?.code.primary == .constraint)
        #expect(error?.description.contains("INSERT INTO item") == true)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func `lets readers see the last commit during a write`() throws {
        let database = try file.open()
        try database.write { (connection) throws(SQLiteError) in
            try connection.execute("INSERT INTO item (a) VALUES (1)")
            #expect(try database.count() == 0)
        }
        #expect(try database.count() == 1)
    }

    @Test func `checkpoints a long log, and keeps every row`() throws {
        var configuration = TemporaryFile.configuration()
        configuration.checkpointLength = 8
        let database = try file.open(configuration)
        for _ in 0..<64 {
            try database.write { (connection) throws(SQLiteError) in
                try connection.execute("INSERT INTO item (d) VALUES (zeroblob(8192))")
            }
        }
        #expect(try database.count() == 64)
        let log = try FileManager.default.attributesOfItem(atPath: file.path + "-wal")[.size] as? Int
        #expect(try #require(log) < 40 * 8192)
    }

    private func size(_ suffix: String = "") throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path + suffix)
        return try #require(attributes[.size] as? Int)
    }

    @Test func `checkpoints and empties its log when it is told to`() throws {
        let database = try file.open()
        for value in 0..<100 { try database.insert(Int64(value)) }
        database.emptyLog()
        #expect(try size("-wal") == 0)
        #expect(try database.count() == 100)
        try database.write { (connection) throws(SQLiteError) in
            #expect(try connection.integer("PRAGMA busy_timeout") == 30_000)
        }
    }

    // SQLite would copy the log without the write lock, while another connection has it.
    @Test(arguments: [false, true])
    func `does not checkpoint while another connection writes`(isTurn: Bool) throws {
        var impatient = TemporaryFile.configuration()
        impatient.busyTimeout = 0
        let (database, other) = (try file.open(impatient), try file.open())
        let handle = try SQLiteDatabase.open(file.path, configuration: impatient, readOnly: false)
        try database.write { (connection) throws(SQLiteError) in
            try connection.execute("INSERT INTO item (d) VALUES (zeroblob(1000000))")
        }
        let before = try size()
        try other.write { (_) throws(SQLiteError) in
            // Its turn has not come, or another connection was faster.
            if isTurn { SQLiteDatabase.truncateLog(on: handle) } else { database.emptyLog() }
        }
        #expect(try size() == before)
        database.emptyLog()
        #expect(try size() > before)
    }

    @Test func `checkpoints at the end of its use, unless another connection writes`() throws {
        let (database, other) = (try file.open(), try file.open())
        try database.insert(1)
        let before = try size()
        try other.write { (_) throws(SQLiteError) in database.emptyLogIfFree() }
        #expect(try size() == before && size("-wal") > 0)
        // This connection has the only write lock of the process.
        try database.write { (_) throws(SQLiteError) in database.emptyLogIfFree() }
        #expect(try size() == before && size("-wal") > 0)
        database.emptyLogIfFree()
        #expect(try size() > before && size("-wal") == 0)
        try database.write { (connection) throws(SQLiteError) in
            #expect(try connection.integer("PRAGMA busy_timeout") == 30_000)
        }
    }

    @Test func `checkpoints its log, and does not wait long for readers to truncate it`() throws {
        let (database, other) = (try file.open(), try file.open())
        for _ in 0..<2 {
            try database.write { (connection) throws(SQLiteError) in
                try connection.execute("INSERT INTO item (d) VALUES (zeroblob(1000000))")
            }
        }
        try other.read { (connection) throws(SQLiteError) in
            let rows = try connection.statement("SELECT length(d) FROM item")
            let isFirst = try rows.step()
            let start = ContinuousClock.now
            database.emptyLog()
            // Half a second, not the half minute that writers wait.
            #expect(start.duration(to: .now) < .seconds(15))
            let isSecond = try rows.step()
            #expect(isFirst && isSecond)
        }
        #expect(try size("-wal") > 0)
        #expect(try size() > 2_000_000)
        database.emptyLog()
        #expect(try size("-wal") == 0)
    }

    @Test func `a second connection to a database reads the writes of the first`() throws {
        let first = try file.open()
        let second = try file.open()
        try first.write { (connection) throws(SQLiteError) in
            try connection.execute("INSERT INTO item (a) VALUES (1)")
        }
        #expect(try second.count() == 1)
    }

    @Test func `serves many threads at once`() async throws {
        let database = try file.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        if task < 2 { try database.insert(1) } else { _ = try database.count() }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try database.count() == 100)
    }

    @Test func `can be read by its owner only`() throws {
        _ = try file.open()
        for suffix in ["", "-wal", "-shm"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path + suffix)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(suffix)")
        }
    }
}

extension SQLiteDatabase {
    func count() throws(SQLiteError) -> Int64 {
        try read { (connection) throws(SQLiteError) in try connection.integer("SELECT count(*) FROM item") }
    }

    func insert(_ value: Int64) throws(SQLiteError) {
        try write { (connection) throws(SQLiteError) in
            try connection.run("INSERT INTO item (a) VALUES (\(value))")
        }
    }
}
