import Foundation
import Testing

@testable import DiamondSQLite

@Suite("Opening a file") struct OpeningTests {
    let file = TemporaryFile()

    @Test(arguments: [1, 2]) func `a file of an older version is migrated to the schema of a new file`(version: Int)
        throws
    {
        do {
            let old = try file.open(TemporaryFile.configuration(versions: version))
            try old.insert(7)
        }
        let migrated = try file.open(TemporaryFile.configuration(versions: 3))
        let another = TemporaryFile()
        let fresh = try another.open(TemporaryFile.configuration(versions: 3))
        #expect(try migrated.schema() == fresh.schema())
        #expect(try migrated.count() == 1)
    }

    @Test func `a file of a newer version is refused with a remedy, and not changed`() throws {
        _ = try file.open(TemporaryFile.configuration(versions: 3))
        let error = #expect(throws: SQLiteError.self) { try file.open(TemporaryFile.configuration(versions: 2)) }
        #expect(error?.code == .newerSchema)
        #expect(error?.description.contains("version 3") == true)
        #expect(error?.description.contains("update this program") == true)
        _ = try file.open(TemporaryFile.configuration(versions: 3))
    }

    @Test func `a file that a newer program migrates while it is open can be read, but not written`() throws {
        let old = try file.open(TemporaryFile.configuration(versions: 2))
        try old.insert(7)
        let new = try file.open(TemporaryFile.configuration(versions: 3))
        let error = #expect(throws: SQLiteError.self) { try old.insert(8) }
        #expect(error?.code == .newerSchema && error?.remedy?.contains("update this program") == true)
        #expect(try old.count() == 1)
        try new.insert(9)
        #expect(try old.count() == 2)
    }

    @Test func `a file of another program is refused`() throws {
        var other = TemporaryFile.configuration()
        other.applicationID = 43
        _ = try file.open(other)
        let error = #expect(throws: SQLiteError.self) { try file.open() }
        #expect(error?.code == .foreignFile)
    }

    @Test func `a file that is no database is refused`() throws {
        try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: file.path))
        let error = #expect(throws: SQLiteError.self) { try file.open() }
        #expect(error?.code == .notADatabase)
    }

    @Test func `a file in a missing directory fails to open with an error that says so`() throws {
        let error = #expect(throws: SQLiteError.self) {
            try SQLiteDatabase(path: file.path + "/no/such", configuration: TemporaryFile.configuration())
        }
        #expect(error?.code == .cannotOpen)
        #expect(error?.remedy?.contains("directory") == true)
    }

    @Test(arguments: [true, false])
    func `a file that was removed or replaced while it was open gets no further connections`(isReplaced: Bool) throws {
        let database = try file.open()
        try FileManager.default.removeItem(atPath: file.path)
        if isReplaced { try Data().write(to: URL(filePath: file.path)) }
        let error = #expect(throws: SQLiteError.self) { try database.count() }
        #expect(error?.code == .fileReplaced)
        #expect(error?.message.contains("replaced") == true)
    }

    @Test func `a file opened by eight threads at once is created once`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { [file] in try file.open(TemporaryFile.configuration(versions: 3)).insert(1) }
            }
            try await group.waitForAll()
        }
        #expect(try file.open(TemporaryFile.configuration(versions: 3)).count() == 8)
    }
}

extension SQLiteDatabase {
    /// The rows of `sqlite_schema`, in a fixed order.
    func schema() throws(SQLiteError) -> [String] {
        try read { (connection) throws(SQLiteError) in
            try connection.rows(
                "SELECT type || name || coalesce(sql, '') FROM sqlite_schema ORDER BY 1"
            ) { $0.text(0) }
        }
    }
}
