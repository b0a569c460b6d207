import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl stats --by", .limit(minutes: 5)) struct StatsTests {
    let cachectl = Shell()

    private func fill() async throws {
        let (json, text) = ("content-type: application/JSON; charset=utf-8\n", "Content-Type: text/html\n")
        try await cachectl.store([
            StoredEntry(url: "https://a.example/1", headers: json),
            StoredEntry(url: "https://a.example/2", headers: json),
            StoredEntry(url: "https://a.example:8443/3", headers: text, body: Data(count: 2048), age: 2 * 3_600_000),
            StoredEntry(url: "https://b.example/4", status: 404, age: 90 * 86_400_000),
        ])
    }

    private static let bars = [24, 12, 8].map { String(repeating: "█", count: $0) }

    @Test(arguments: [
        (
            "host",
            ["3  2.0 KiB   75 %  \(bars[0])  a.example", "1      4 B   25 %  \(bars[2])                  b.example"]
        ),
        (
            "type",
            [
                "2      8 B   50 %  \(bars[0])  application/json", "1      4 B   25 %  \(bars[1])              -",
                "1  2.0 KiB   25 %  \(bars[1])              text/html",
            ]
        ),
        ("status", ["3  2.0 KiB   75 %  \(bars[0])  200", "1      4 B   25 %  \(bars[2])                  404"]),
    ]) func `prints a histogram of the entries`(criterion: String, rows: [String]) async throws {
        try await fill()
        let outcome = try await cachectl("stats", "--by", criterion)
        let lines = outcome.text.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasPrefix("ENTRIES     SIZE  SHARE  ") == true && outcome.status == 0)
        #expect(lines.dropFirst().map { $0.trimmingCharacters(in: .whitespaces) } == rows, "\(outcome.text)")
        #expect(lines.allSatisfy { $0.count <= 80 })
    }

    @Test func `groups by age, from the youngest, and prints JSON with --json`() async throws {
        try await fill()
        let form = try #require(try await cachectl.object("stats", "--by", "age"))
        let groups = try #require(form["groups"] as? [[String: Any]])
        #expect(groups.map { $0["name"] as? String } == ["< 1m", "< 1h", "< 6h", "< 1d", "< 7d", "< 30d", "older"])
        #expect(groups.map { $0["entries"] as? Int } == [2, 0, 1, 0, 0, 0, 1] && form["by"] as? String == "age")
        #expect(groups.map { $0["bodyBytes"] as? Int } == [8, 0, 2048, 0, 0, 0, 4])
    }

    @Test func `sums the smallest of many groups, and escapes their names`() async throws {
        let entries = (0..<50).map { StoredEntry(url: "https://h/\($0)", headers: "Content-Type: x/\($0)\n") }
        try await cachectl.store(entries + [StoredEntry(url: "https://h/", headers: "Content-Type: a/\u{202E}b\n")])
        let lines = try await cachectl("stats", "--by", "type").text.split(separator: "\n")
        #expect(lines.count == 41 && lines.last?.hasSuffix("12 others") == true, "\(lines)")
        #expect(!lines.joined().contains("\u{202E}") && lines[1].hasSuffix(#"a/\u{202E}b"#))
        #expect(try await (cachectl.object("stats", "--by", "type")?["groups"] as? [Any])?.count == 51)
    }

    @Test func `prints the hit ratio of each hour`() async throws {
        let now = WallTime.now
        let cache = try Cache(cachectl.temporary.store, timing: CacheTiming(now: { now }))
        cache.writer.count(in: now.hour) {
            $0.hits += 3; $0.misses += 1
        }
        cache.writer.count(in: now.hour - 2) { $0.misses += 1 }
        await cache.flush()
        let lines = try await cachectl("stats", "--days", "2", "--hourly").text.split(separator: "\n").map(String.init)
        #expect(lines.count == 3 && lines[0].hasPrefix("HOUR"), "\(lines)")
        #expect(lines[1].hasSuffix("   0 %") && lines[2].hasSuffix("  75 %"), "\(lines)")
        #expect(lines[2].hasPrefix(String(Date().formatted(.iso8601).prefix(11))))
    }

    @Test func `says that nothing is stored, and refuses what it cannot group by`() async throws {
        _ = try Cache(cachectl.temporary.store)
        for criterion in ["host", "age", "type"] {
            #expect(try await cachectl("stats", "--by", criterion).errors == "nothing stored\n")
        }
        for arguments in [["--by", "size"], ["--by", "host", "--days", "2"], ["--hourly"]] {
            #expect(try await cachectl(["stats"] + arguments).status == 64)
        }
    }
}
