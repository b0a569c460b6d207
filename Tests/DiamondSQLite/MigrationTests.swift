import Foundation
import Testing

@testable import DiamondSQLite

@Suite struct `A migration` {
    let file = TemporaryFile()

    /// A configuration with the given script as its third version.
    private func configuration(third: String) -> SQLiteConfiguration {
        var configuration = TemporaryFile.configuration(versions: 2)
        configuration.migrations.append(third)
        return configuration
    }

    @Test func `a migration runs each missing script once, in order`() throws {
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

    @Test func `a migration runs once when several connections open an older file`() async throws {
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
}
