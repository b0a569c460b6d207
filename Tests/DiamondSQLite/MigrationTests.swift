import Foundation
import Testing

@testable import DiamondSQLite

@Suite struct `A migration` {
    let file = TemporaryFile()

    /// The third version's script as it is said.
    private func configuration(third: String) -> SQLiteConfiguration {
        var configuration = TemporaryFile.configuration(versions: 2)
        configuration.migrations.append(third)
        return configuration
    }

    @Test func `runs each missing script once, in their order`() throws {
        try file.open().insert(7)
        // Each of them fails where the one before has not run, or it has itself.
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
    func `that fails leaves the file as it was`(script: String) throws {
        do { try file.open(TemporaryFile.configuration(versions: 1)).insert(7) }
        let error = #expect(throws: SQLiteError.self) { try file.open(configuration(third: script)) }
        #expect(error?.sql?.contains(script.prefix(10)) == true)
        // Not even the second version's column is there, and the next try has all to do.
        let old = try file.open(TemporaryFile.configuration(versions: 1))
        let another = TemporaryFile()
        #expect(try old.schema() == another.open(TemporaryFile.configuration(versions: 1)).schema())
        #expect(try old.count() == 1)
        #expect(try file.open(TemporaryFile.configuration(versions: 3)).count() == 1)
    }

    @Test func `is run by one of those who open an older file at once`() async throws {
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
