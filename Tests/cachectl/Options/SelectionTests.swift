import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl purge and invalidate", .limit(minutes: 5)) struct SelectionTests {
    let cachectl = Shell()

    private func fill() async throws {
        try await cachectl.store([
            StoredEntry(url: "https://a.example/v1/x", tags: ["cities"]),
            StoredEntry(url: "https://a.example/v2/x", identity: "anna"),
            StoredEntry(url: "http://a.example:8080/", tags: ["cities"], age: 3 * 86_400_000),
            StoredEntry(url: "https://b.example/", age: 3600_000),
        ])
    }

    private static let selections: [(arguments: [String], count: Int)] = [
        (["--tag", "cities"], 2), (["--tag", "city"], 0), (["--host", "a.example"], 3), (["--host", "A.EXAMPLE"], 3),
        (["--prefix", "https://a.example/v1/"], 1), (["--identity", "anna"], 1), (["--older-than", "2d"], 1),
        (["--older-than", "30m"], 2), (["--older-than", "90m"], 1), (["--older-than", "0s"], 4), (["--all"], 4),
    ]

    @Test(arguments: selections) func `purges the selected entries, and only prints their number with --dry-run`(
        arguments: [String],
        count: Int
    ) async throws {
        try await fill()
        let entries = count == 1 ? "1 entry" : "\(count) entries"
        #expect(try await cachectl(["purge", "--dry-run"] + arguments).text == "would erase \(entries)\n")
        #expect(try Cache(cachectl.temporary.store).totals().entries == 4)
        #expect(try await cachectl(["purge"] + arguments).text == "erased \(entries)\n")
        #expect(try Cache(cachectl.temporary.store).totals().entries == 4 - count)
    }

    @Test(arguments: selections) func `marks each selected entry stale once`(
        arguments: [String],
        count: Int
    ) async throws {
        try await fill()
        let entries = count == 1 ? "1 entry" : "\(count) entries"
        #expect(try await cachectl(["invalidate", "--dry-run"] + arguments).text == "would mark \(entries) stale\n")
        #expect(try await cachectl(["invalidate"] + arguments).text == "marked \(entries) stale\n")
        #expect(try await cachectl(["invalidate"] + arguments).text == "marked 0 entries stale\n")
        #expect(try await cachectl(["invalidate", "--dry-run"] + arguments).text == "would mark 0 entries stale\n")
        let stale = try Cache(cachectl.temporary.store).list(limit: 9).filter { $0.flags.contains(.invalidated) }
        #expect(stale.count == count)
    }

    @Test func `counts the variants of a request, and not their index`() async throws {
        var configuration = Engine.Configuration(store: cachectl.temporary.store)
        configuration.identityPreset = .http
        configuration.transport = StubTransport(headers: [.cacheControl: "max-age=60", .vary: "Accept-Language"])
        let engine = Engine(configuration)
        for language in ["de", "en"] {
            _ = try await engine.send(Request("https://a.example/", headers: [.acceptLanguage: language]))
        }
        await engine.close()
        #expect(try await cachectl("list").text.split(separator: "\n").count { $0.contains("a.example") } == 2)
        for arguments in [["--all"], ["--host", "a.example"]] {
            #expect(try await cachectl(["invalidate", "--dry-run"] + arguments).text == "would mark 2 entries stale\n")
            #expect(try await cachectl(["purge", "--dry-run"] + arguments).text == "would erase 2 entries\n")
        }
        #expect(try await cachectl("invalidate", "--all").text == "marked 2 entries stale\n")
        #expect(try await cachectl("invalidate", "--all").text == "marked 0 entries stale\n")
        #expect(try await cachectl("purge", "--all").text == "erased 2 entries\n")
        #expect(try Cache(cachectl.temporary.store).totals().entries == 0)
    }

    @Test func `accepts a key, and prints the number of entries as JSON with --json`() async throws {
        try await fill()
        let key = try #require(try Cache(cachectl.temporary.store).list(limit: 1).first?.key.description)
        let digits = String(key.prefix(12))
        #expect(
            try await cachectl.object("invalidate", digits, "--dry-run") as? [String: Int] == ["wouldInvalidate": 1])
        #expect(try await cachectl.object("invalidate", digits) as? [String: Int] == ["invalidated": 1])
        #expect(try await cachectl.object("purge", digits, "--dry-run") as? [String: Int] == ["wouldErase": 1])
        #expect(try await cachectl.object("purge", digits) as? [String: Int] == ["erased": 1])
        #expect(try await cachectl("invalidate", digits).status == 1)
    }

    @Test(arguments: [
        [], ["abc", "--all"], ["--tag", "a", "--host", "b"], ["--host", ""], ["--older-than", "7"],
        ["--older-than", "-7d"], ["--older-than", "d"], ["--older-than", "99999999999999999d"],
        ["--all", "--store", ""],
    ]) func `refuses a missing, a second or an invalid selection`(arguments: [String]) async throws {
        try await fill()
        for command in ["purge", "invalidate"] {
            let outcome = try await cachectl([command] + arguments)
            #expect(outcome.status == 64)
            #expect(outcome.errors.hasPrefix("Error: "), "\(outcome.errors)")
        }
        #expect(try Cache(cachectl.temporary.store).totals().entries == 4)
    }
}
