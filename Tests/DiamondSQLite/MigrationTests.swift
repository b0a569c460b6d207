import Foundation
import Testing

@testable import DiamondSQLite

@Suite("A migration") struct MigrationTests {
    let file = TemporaryFile()

    /// A configuration with the given script as its third version.
    private func configuration(third: String) -> SQLiteConfiguration {
        var configuration = TemporaryFile.configuration(versions: 2)
        configuration.migrations.append(third)
        return configuration
    }

    @Test func `runs each missing script once, in order`() throws {
        try file.open().insert(7)
        // Each script fails where the one before has not run, or where it has run itself.
        var configuration = TemporaryFile.configuration(versions: 3)
        configuration.migrations += [
            "ALTER TABLE item RENAME COLUMN f TO g; UPDATE item SET g = 'was f';",
            "UPDATE item SET g = g || ', then g'; DROP INDEX item_by_a;",
        ]
        let database = try file.open(configuration)
        let texts = try database.read { (connection) throws(SQLiteError) in
            let row = try connection.statement("SELECT a || g FROM item")
            return try row.step() ? row.text(0) : ""
        }
        #expect(texts == "7was f, then g")
        _ = try file.open(configuration)
    }

    @Test(arguments: ["CREATE TABLE more (a); INSERT INTO nowhere VALUES (1);", "DROP TABLE item; nonsense;"])
    func `a migration that fails leaves the file unchanged`(script: String) throws {
        do { try file.open(TemporaryFile.configuration(versions: 1)).insert(7) }
        let error = #expect(throws: SQLiteError.self) { try file.open(configuration(third: script)) }
        #expect(error?.sql?.contains(script.prefix(10)) == true)
        // Not even the second version's column is there, and the next attempt starts from the beginning.
        let old = try file.open(TemporaryFile.configuration(versions: 1))
        let another = TemporaryFile()
        #expect(try old.schema() == another.open(TemporaryFile.configuration(versions: 1)).schema())
        #expect(try old.count() == 1)
        #expect(try file.open(TemporaryFile.configuration(versions: 3)).count() == 1)
    }

    @Test func `runs once when several connections open an older file`() async throws {
        try file.open().insert(7)
        var configuration = TemporaryFile.configuration(versions: 3)
        configuration.migrations.append("INSERT INTO item (a) SELECT count(*) FROM item;")
        let changed = configuration
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { [file] in _ = try file.open(changed) } }
            try await group.waitForAll()
        }
        #expect(try file.open(changed).count() == 2)
    }

    // MARK: A first version that was changed in place

    private static let first = """
        CREATE TABLE item (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT NOT NULL, n INTEGER NOT NULL, t TEXT NOT NULL,
            d BLOB NOT NULL, z INTEGER NOT NULL DEFAULT 5, o INTEGER, g TEXT AS (b || 'g') VIRTUAL) STRICT;
        CREATE INDEX item_by_b ON item (b);
        CREATE TRIGGER item_counts AFTER INSERT ON item BEGIN UPDATE total SET n = n + 1; END;
        CREATE TABLE part (item INTEGER NOT NULL REFERENCES item (a) ON DELETE CASCADE) STRICT;
        CREATE TABLE total (n INTEGER NOT NULL) STRICT;
        INSERT INTO total VALUES (0);
        """

    private static let forms = [
        "the newest": first,
        "without columns": first.replacing(", n INTEGER NOT NULL, t TEXT NOT NULL,\n    d BLOB NOT NULL", with: "")
            .replacing(", z INTEGER NOT NULL DEFAULT 5, o INTEGER, g TEXT AS (b || 'g') VIRTUAL", with: ""),
        "without an index and a trigger": first.split(separator: "\n").filter {
            !$0.contains("INDEX") && !$0.contains("TRIGGER")
        }.joined(separator: "\n"),
    ]

    @Test(arguments: forms.keys.sorted()) func `gives each form of a first version the same schema`(
        form: String
    ) throws {
        let old = try #require(Self.forms[form])
        let rows = "INSERT INTO item (b) VALUES ('x'); INSERT INTO item (b) VALUES ('y');"
        let filled = "INSERT INTO item (b, n, t, d) VALUES ('x', 1, '', x''), ('y', 1, '', x'');"
        let script = old + (form == "without columns" ? rows : filled)
        do {
            let database = try file.open(SQLiteConfiguration(applicationID: 42, migrations: [script]))
            try database.write { (connection) throws(SQLiteError) in
                try connection.execute("INSERT INTO part VALUES (1); DELETE FROM item WHERE a = 2")
            }
        }
        var configuration = SQLiteConfiguration(
            applicationID: 42, migrations: [Self.first, "CREATE INDEX item_by_n ON item (n);"])
        configuration.firstVersionVaries = true
        configuration.complete = { (connection) throws(SQLiteError) in
            try connection.execute("UPDATE item SET n = 7 WHERE n = 0")
        }
        let database = try file.open(configuration)
        let another = TemporaryFile()
        #expect(try database.schema() == another.open(configuration).schema())
        let values = try database.write { (connection) throws(SQLiteError) in
            try connection.execute("INSERT INTO item (b, n, t, d) VALUES ('z', 1, '', x'')")
            let row = try connection.statement(
                "SELECT group_concat(a || b || n || z || g), (SELECT count(*) FROM part), (SELECT n FROM total) FROM item"
            )
            return try row.step() ? "\(row.text(0)) \(row.text(1)) \(row.text(2))" : ""
        }
        let count = form == "without an index and a trigger" ? 1 : 3
        #expect(values == (form == "without columns" ? "1x75xg,3z15zg 1 3" : "1x15xg,3z15zg 1 \(count)"))
    }
    @Test func `a migration of the first version keeps a row that a constraint refuses`() throws {
        do {
            let script = "CREATE TABLE item (a INTEGER PRIMARY KEY, b TEXT NOT NULL) STRICT"
            let database = try file.open(SQLiteConfiguration(applicationID: 42, migrations: [script]))
            try database.write { (connection) throws(SQLiteError) in
                try connection.execute("INSERT INTO item VALUES (1, 'damaged'), (2, 'x')")
            }
        }
        let first =
            "CREATE TABLE item (a INTEGER PRIMARY KEY, b TEXT NOT NULL CHECK (b <> 'damaged'), n INTEGER NOT NULL) STRICT"
        var configuration = SQLiteConfiguration(
            applicationID: 42, migrations: [first, "CREATE INDEX item_by_n ON item (n);"])
        configuration.firstVersionVaries = true
        let database = try file.open(configuration)
        try database.write { (connection) throws(SQLiteError) in
            #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO item VALUES (3, 'damaged', 1)") }
            let row = try connection.statement("SELECT count(*) FROM item")
            #expect(try row.step() && row.int64(0) == 2)
        }
    }
}
