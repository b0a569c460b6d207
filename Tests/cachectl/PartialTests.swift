import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl with partial bodies", .limit(minutes: 5)) struct PartialTests {
    let cachectl = Shell()

    /// Stores a complete response and two partial ones: one that a transfer can resume, and one that was abandoned an
    /// hour ago.
    private func fill() async throws {
        let now = WallTime.now
        try await cachectl.store([StoredEntry(url: "https://h/whole")])
        for (name, age, flags) in [("kept", 0, StoredResponse.Flags.hasValidator), ("left", 3_700_000, [])] {
            let cache = try Cache(cachectl.temporary.store, timing: CacheTiming(now: { now - Int64(age) }))
            let entry = StoredEntry(url: "https://h/\(name)", flags: flags)
            let writer = try cache.bodyWriter(for: entry.cacheEntry(storedAt: now, cache.rules))
            try await writer.append(Data(count: 2 << 20))
            // Neither finished nor released, like the writer of a process that has died.
            _ = Unmanaged.passRetained(writer)
        }
    }

    @Test func `lists partial bodies as partial`() async throws {
        try await fill()
        let lines = try await cachectl("list").text.split(separator: "\n")
        #expect(lines.filter { $0.contains(" partial ") }.count == 2)
        let listed = try await cachectl("list", "--json", "--by", "url")
        let entries = try #require(JSONSerialization.jsonObject(with: listed.output) as? [[String: Any]])
        #expect(entries.map { $0["partial"] as? Bool } == [true, true, nil])
    }

    @Test func `counts partial bodies separately`() async throws {
        try await fill()
        let stats = try #require(try await cachectl.object("stats"))
        #expect(stats["entries"] as? Int == 1 && stats["partial"] as? Int == 2)
        #expect(try await cachectl("stats").text.contains("partial  2\n"))
    }

    @Test func `shows the headers of a partial body, and not its bytes`() async throws {
        try await fill()
        let key = try Cache(cachectl.temporary.store).list([.url("https://h/kept")], limit: 1)[0].key.description
        let shown = try await cachectl("show", key)
        #expect(shown.status == 0)
        #expect(shown.text.contains("ETag: \"1\""))
        let body = try await cachectl("show", key, "--body")
        #expect(body.status != 0 && body.output.isEmpty)
        #expect(body.errors.contains("is incomplete"))
    }

    @Test func `finds an abandoned partial body with verify, and removes it with --repair`() async throws {
        try await fill()
        let found = try await cachectl("verify")
        #expect(found.status == 1)
        #expect(found.text.contains("partial") && found.text.contains("1 finding"))
        #expect(try await cachectl("verify", "--repair").status == 0)
        #expect(try await cachectl("verify").status == 0)
        #expect(try Cache(cachectl.temporary.store).totals().partials == 1)
    }
}
