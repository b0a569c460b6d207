import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl verify", .limit(minutes: 5)) struct VerifyTests {
    let cachectl = Shell()

    private func fill() async throws {
        try await cachectl.store([
            StoredEntry(url: "https://a.example/?token=•••", body: Data(repeating: 1, count: 300_000), tags: ["a"]),
            StoredEntry(url: "https://a.example/small", body: Data("small".utf8), tags: ["a", "b"]),
            StoredEntry(url: "https://a.example/empty", body: Data()),
        ])
    }

    @Test func `says that a sound store is sound, empty or not`() async throws {
        _ = try Cache(cachectl.temporary.store)
        #expect(try await cachectl("verify").text == "0 entries, 0 B of bodies: all sound\n")
        try await fill()
        let outcome = try await cachectl("verify")
        #expect(outcome.text == "3 entries, 292 KiB of bodies: all sound\n")
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
        let report = try #require(try await cachectl.object("verify"))
        #expect(report["entries"] as? Int == 3)
        #expect((report["findings"] as? [Any])?.isEmpty == true)
    }

    @Test func `finds no problem after purge and evict`() async throws {
        try await fill()
        _ = try await cachectl("evict", "--to", "0")
        try await fill()
        _ = try await cachectl("purge", "--all")
        #expect(try await cachectl("verify").status == 0)
    }

    @Test func `lists each damaged entry in a line, and removes it with --repair`() async throws {
        try await fill()
        try cachectl.temporary.run("UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id = (1 << 20) + 1")
        let found = try await cachectl("verify")
        #expect(found.status == 1)
        let key = try Cache(cachectl.temporary.store).list(limit: 1)[0].key.description.prefix(12)
        #expect(
            found.text
                == """
                KIND   KEY           WHAT IS WRONG                 URL
                entry  \(key)  its body's checksum is wrong  https://a.example/?token=•••
                3 entries, 292 KiB of bodies: 1 finding

                """
        )
        #expect(found.errors == "run 'cachectl verify --repair' to repair it\n")
        let path = cachectl.temporary.directory.path
        let advice = try await cachectl("verify", "--store", path).errors
        #expect(advice == "run 'cachectl verify --repair --store=\(path)' to repair it\n")
        let repaired = try await cachectl("verify", "--repair")
        #expect(repaired.status == 0)
        #expect(repaired.text.contains("  dropped  https://a.example/?token=•••\n"), "\(repaired.text)")
        #expect(repaired.text.hasSuffix(": 1 finding, repaired\n"))
        #expect(try await cachectl("verify").text == "2 entries, 5 B of bodies: all sound\n")
    }

    private static let damages: [(sql: String, kind: String, what: String)] = [
        ("UPDATE entry SET status = 404 WHERE id = 2", "entry", "its row's checksum is wrong"),
        ("UPDATE entry SET stored_at = 1 << 60 WHERE id = 2", "entry", "its row has invalid values"),
        ("UPDATE entry SET key_prefix = 7 WHERE id = 2", "entry", "no lookup finds it: its index has another key"),
        ("DELETE FROM body WHERE id = (1 << 20) + 2", "entry", "its body is incomplete"),
        ("DELETE FROM body WHERE id = 2 << 20", "entry", "its body is incomplete"),
        ("UPDATE body SET bytes = CAST('smalL' AS BLOB) WHERE id = 2 << 20", "entry", "its body's checksum is wrong"),
        (
            "INSERT INTO body VALUES (9 << 20, NULL, x'00'), ((9 << 20) + 1, NULL, x'00')", "body",
            "rows of a body without an entry: 2"
        ),
        ("INSERT INTO tag VALUES (9, 'x')", "tags", "tags without an entry: 1"),
        ("INSERT INTO fact VALUES ('hand', x'ff')", "hand", "is invalid"),
        ("INSERT INTO body VALUES ((2 << 20) + 1, NULL, x'00')", "surplus", "rows after the end of its body: 1"),
        ("DROP INDEX entry_by_age", "schema", "the index entry_by_age is missing"),
        ("DROP INDEX entry_by_key", "schema", "the index entry_by_key is missing"),
        (
            "CREATE INDEX entry_by_status ON entry (status)", "schema",
            "the index entry_by_status is not part of the schema"
        ),
        (
            "DROP INDEX entry_by_url; CREATE INDEX entry_by_url ON entry (url, id)", "schema",
            "the index entry_by_url has another definition"
        ),
        ("DROP TRIGGER entry_was_changed", "schema", "the trigger entry_was_changed is missing"),
        (
            "CREATE TRIGGER spy AFTER INSERT ON entry BEGIN DELETE FROM tag; END", "schema",
            "the trigger spy is not part of the schema"
        ),
        ("CREATE TABLE mine (a)", "schema", "the table mine is not part of the schema"),
        ("CREATE VIEW mine AS SELECT 1", "schema", "the view mine is not part of the schema"),
        ("DROP TABLE access", "schema", "the table access is missing"),
        ("PRAGMA user_version = 0", "header", "the schema's version is 0, not 4"),
        ("PRAGMA application_id = 7", "header", "the application id is 7, not \(0x4469_6143)"),
        ("DELETE FROM fact WHERE name = 'secret'", "secret", "is missing"),
        ("UPDATE fact SET value = x'' WHERE name = 'secret'", "secret", "is missing"),
    ]

    @Test(arguments: damages.indices) func `finds each kind of damage once, and repairs it`(index: Int) async throws {
        let damage = Self.damages[index]
        try await fill()
        try cachectl.temporary.run(damage.sql)
        let report = try #require(try await cachectl.object("verify"))
        let findings = try #require(report["findings"] as? [[String: String]])
        #expect(findings.map { $0["kind"] } == [damage.kind])
        #expect(findings.first?["what"] == damage.what)
        #expect((findings.first?["key"]?.count == 64) == ["entry", "surplus"].contains(damage.kind))
        let repaired = try #require(try await cachectl.object("verify", "--repair"))
        #expect((repaired["findings"] as? [[String: String]])?.first?["done"] != nil)
        #expect(try await cachectl("verify").status == 0)
        // Only damaged entries were removed.
        let rest = try Cache(cachectl.temporary.store).totals().entries
        #expect(rest == (damage.kind == "entry" ? 2 : 3))
    }

    @Test func `repairs the header and the schema before the entries`() async throws {
        try await fill()
        try cachectl.temporary.run(
            """
            PRAGMA user_version = 0; PRAGMA application_id = 0; DROP INDEX entry_by_key; DROP TRIGGER entry_takes_its_body;
            INSERT INTO entry (id, key_prefix, key, request, url, method, status, headers, stored_at, initial_age, lifetime,
                flags, duration, body_size, body_digest, checksum)
            SELECT 9, key_prefix, key, request, url, method, status, headers, stored_at, initial_age, lifetime, flags,
                duration, body_size, body_digest, checksum FROM entry WHERE id = 3;
            UPDATE entry SET status = 404 WHERE id = 2
            """
        )
        #expect(try await cachectl("verify").status == 1)
        let repaired = try #require(try await cachectl.object("verify", "--repair"))
        let findings = try #require(repaired["findings"] as? [[String: String]])
        #expect(findings.map { $0["kind"] } == ["header", "schema", "schema", "entry"])
        #expect(findings.allSatisfy { $0["done"] != nil && $0["done"] != "no longer there" }, "\(findings)")
        #expect(try await cachectl("verify").status == 0)
        #expect(try Cache(cachectl.temporary.store).totals().entries == 2)
    }

    @Test func `sets a file aside whose tables have other columns`() async throws {
        try await fill()
        try cachectl.temporary.run("ALTER TABLE tag ADD COLUMN mine TEXT")
        let found = try await cachectl("verify")
        #expect(found.status == 1 && found.text.contains("file  -    the table tag has other columns"), "\(found.text)")
        #expect(try await cachectl("verify", "--repair").text.contains("set aside as cache.sqlite.corrupt-"))
        #expect(try await cachectl("verify").text == "0 entries, 0 B of bodies: all sound\n")
    }

    @Test(arguments: ["PRAGMA user_version = 99", "PRAGMA application_id = 7; DROP TABLE tag"])
    func `does not change a newer file or a file of another program`(sql: String) async throws {
        try await fill()
        try cachectl.temporary.run(sql)
        let before = try Data(contentsOf: URL(filePath: cachectl.temporary.store.cachePath))
        let outcome = try await cachectl("verify", "--repair")
        #expect(outcome.status == 4, "\(outcome.errors)")
        #expect(
            outcome.errors.contains(": update this program, or use another store")
                || outcome.errors.contains("use another store"))
        #expect(try Data(contentsOf: URL(filePath: cachectl.temporary.store.cachePath)) == before)
    }

    /// Overwrites pages; by default all except the first.
    private func damageFile(from page: Int = 2, pages: Int? = nil) throws {
        let file = try FileHandle(forWritingTo: URL(filePath: cachectl.temporary.store.cachePath))
        let all = Int(try file.seekToEnd() / 8192)
        try file.seek(toOffset: UInt64(page - 1) * 8192)
        try file.write(contentsOf: Data(repeating: 0xA5, count: (pages ?? all - 1) * 8192))
        try file.close()
    }

    @Test func `sets a malformed file aside, and only with --repair`() async throws {
        try await fill()
        _ = try await cachectl("evict")  // empties the log
        try damageFile()
        let found = try await cachectl("verify")
        #expect(found.status == 1 && found.text.contains("\nfile  -  "), "\(found.text)")
        let names = { try FileManager.default.contentsOfDirectory(atPath: cachectl.temporary.directory.path) }
        #expect(try names().allSatisfy { !$0.contains("corrupt") })
        let repaired = try await cachectl("verify", "--repair")
        #expect(repaired.status == 0)
        #expect(repaired.text.contains("set aside as cache.sqlite.corrupt-"), "\(repaired.text)")
        #expect(try names().contains { $0.contains("cache.sqlite.corrupt-") })
        _ = try Cache(cachectl.temporary.store)
        #expect(try await cachectl("verify").status == 0)
    }

    @Test func `keeps the secret of a malformed file in which it can still be read`() async throws {
        try await fill()
        let digest = try Cache(cachectl.temporary.store).rules.digest(of: [1])
        _ = try await cachectl("evict")
        try damageFile(from: try cachectl.temporary.root(of: "entry_by_size"), pages: 1)
        #expect(try await cachectl("verify").status == 1)
        #expect(try await cachectl("verify", "--repair").text.contains("set aside as "))
        #expect(try Cache(cachectl.temporary.store).rules.digest(of: [1]) == digest)
    }

    @Test func `runs while a program uses the store, which then drops the removed entry from memory`() async throws {
        try await fill()
        let uptime = Guarded(Uptime(rawValue: 0))
        let cache = try Cache(
            cachectl.temporary.store, memoryCapacity: 1 << 20, timing: CacheTiming(uptime: { uptime.withLock { $0 } }))
        let listing = try #require(try cache.list(limit: 3).first { $0.url.hasSuffix("small") })
        let form = Array(try #require(try cache.canonicalForm(of: listing.key)).utf8)
        #expect(cache.find(listing.key, request: form) != nil)
        try cachectl.temporary.run("UPDATE entry SET checksum = 0 WHERE id = \(listing.id)")
        #expect(try await cachectl("verify", "--repair").status == 0)
        uptime.withLock { $0 += CrossProcessChanges.interval }
        #expect(cache.find(listing.key, request: form) == nil)
    }
}
