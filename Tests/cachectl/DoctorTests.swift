import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl doctor", .limit(minutes: 5)) struct DoctorTests {
    let cachectl = Shell()

    private var path: String { cachectl.temporary.directory.path }

    private func fill() async throws {
        try await cachectl.store([
            StoredEntry(url: "https://a.example/", body: Data(count: 300_000)),
            StoredEntry(url: "https://b.example/"),
        ])
    }

    @Test func `describes a healthy store, and changes nothing`() async throws {
        try await fill()
        let before = try cachectl.temporary.contents()
        let outcome = try await cachectl("doctor")
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.text)")
        for line in [
            "diamond   0.1.0-dev, schema 4\n", "sqlite    3.", "store     \(path) (0700)\n",
            "file      cache.sqlite (0600), ", "file      cache.sqlite-wal (0600), ", " of 8.0 KiB, ",
            "pages; checkpointed from 1000 pages on\n", "application_id 0x44696143\n",
            "settings  journal_mode wal, auto_vacuum incremental, ", "entries   2, bodies 292 KiB\n", "\nhealthy\n",
        ] {
            #expect(outcome.text.contains(line), "\(line) in \(outcome.text)")
        }
        #expect(try cachectl.temporary.contents() == before)
        let report = try #require(try await cachectl.object("doctor"))
        #expect(report["entries"] as? Int == 2)
        #expect(report["logThreshold"] as? Int == 1000)
        #expect((report["complaints"] as? [Any])?.isEmpty == true)
    }

    private static let ills: [(what: String, remedy: String, cause: @Sendable (TemporaryStore) throws -> Void)] = [
        ("has the permissions 0755, not 0700", "chmod 700", { try $0.setMode(0o755, of: "") }),
        ("cache.sqlite has the permissions 0644, not 0600", "chmod 600", { try $0.setMode(0o644, of: "cache.sqlite") }),
        (
            "cache.sqlite-wal has the permissions 0660, not 0600", "chmod 600",
            { try $0.setMode(0o660, of: "cache.sqlite-wal") }
        ),
        (
            "cache.sqlite.corrupt-1 was damaged and set aside", "remove it",
            { try Data(count: 9).write(to: $0.directory.appending(path: "cache.sqlite.corrupt-1")) }
        ),
        ("the journal mode is delete, not wal", "cachectl stats", { try $0.run("PRAGMA journal_mode = DELETE") }),
        ("auto_vacuum is not incremental", "remove cache.sqlite*", { try $0.rebuildWithoutVacuum() }),
        (
            "the store's secret is missing", "cachectl verify --repair",
            { try $0.run("DELETE FROM fact WHERE name = 'secret'") }
        ),
        (
            "the index entry_by_key is missing", "cachectl verify --repair",
            { try $0.run("DROP INDEX entry_by_key") }
        ),
        ("the table access is missing", "cachectl verify --repair", { try $0.run("DROP TABLE access") }),
        (
            "the sealed store's secret is missing", "cachectl purge --all",
            { try $0.run("UPDATE entry SET seal = 'k'; DELETE FROM fact WHERE name = 'secret'") }
        ),
        (
            "% of the file is unused", "cachectl evict",
            {
                try $0.run("INSERT INTO body VALUES (1 << 40, NULL, zeroblob(3000000))")
                try $0.run("DELETE FROM body WHERE id = 1 << 40")
            }
        ),
        (
            "the log has ", "then run 'cachectl evict'",
            { try $0.write("INSERT INTO body VALUES (1 << 40, NULL, zeroblob(20000000))") }
        ),
    ]

    @Test(arguments: ills.indices) func `names each problem of a store, and the remedy`(index: Int) async throws {
        let ill = Self.ills[index]
        try await fill()
        try ill.cause(cachectl.temporary)
        let outcome = try await cachectl("doctor")
        #expect(outcome.status == 1)
        let complaints = outcome.text.split(separator: "\n").filter { $0.hasPrefix("! ") }
        #expect(complaints.count == 1, "\(outcome.text)")
        #expect(complaints.first?.contains(ill.what) == true && complaints.first?.contains(ill.remedy) == true)
    }

    private static let failures: [(remedy: String, cause: @Sendable (TemporaryStore) throws -> Void)] = [
        ("there is no store in", { try FileManager.default.removeItem(at: $0.directory) }),
        ("update this program", { try $0.run("PRAGMA user_version = 99") }),
        ("use another store directory", { try $0.run("PRAGMA application_id = 1; DROP TABLE tag") }),
        (
            "the application id is 1, not 1147756867: 'cachectl verify --repair' sets it",
            { try $0.run("PRAGMA application_id = 1") }
        ),
        (
            "the schema's version is 0, not 4: 'cachectl verify --repair' sets it",
            { try $0.run("PRAGMA user_version = 0") }
        ),
        (
            "move the file away; a new one is created",
            {
                for name in ["cache.sqlite-wal", "cache.sqlite-shm"] {
                    try FileManager.default.removeItem(at: $0.directory.appending(path: name))
                }
                try Data(repeating: 1, count: 8192).write(to: URL(filePath: $0.store.cachePath))
                try $0.setMode(0o600, of: "cache.sqlite")
            }
        ),
    ]

    @Test(arguments: failures.indices) func `exits with 4 for a store that cannot be opened, and names the remedy`(
        index: Int
    ) async throws {
        let failure = Self.failures[index]
        try await fill()
        try failure.cause(cachectl.temporary)
        let outcome = try await cachectl("doctor")
        #expect(outcome.status == 4)
        #expect(outcome.text.contains("sqlite    3.") && outcome.text.contains("store     \(path)"))
        let complaints = outcome.text.split(separator: "\n").filter { $0.hasPrefix("! ") }
        #expect(complaints.count == 1 && complaints.first?.contains(failure.remedy) == true, "\(outcome.text)")
        #expect(try await cachectl("doctor", "--json").status == 4)
    }
}

extension TemporaryStore {
    fileprivate func setMode(_ mode: Int, of name: String) throws {
        let path = name.isEmpty ? directory.path : directory.appending(path: name).path
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    /// The contents of the files by name, without the shared memory (`-shm`), which readers change.
    fileprivate func contents() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { !$0.hasSuffix("-shm") }
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: directory.appending(path: $0))) })
    }
}
