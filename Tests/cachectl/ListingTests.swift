import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl list and stats", .limit(minutes: 5)) struct ListingTests {
    let cachectl = Shell()
    /// One time for the whole test, because an hour or a day may begin while it runs.
    private let begin = WallTime.now

    private func fill() async throws {
        try await cachectl.store([
            StoredEntry(url: "https://b.example/newest", tags: ["cities"]),
            StoredEntry(url: "https://c.example/largest", body: Data(count: 200_000)),
            StoredEntry(url: "https://a.example/expired", tags: ["cities"], age: 90_000, flags: []),
            StoredEntry(url: "https://b.example/expired", age: 90_000, flags: []),
            StoredEntry(url: "https://b.example/stale", age: 90_000),
            StoredEntry(url: "https://b.example/pinned", age: 90_000, flags: .pinned),
        ])
    }

    @Test(arguments: [
        (["--by", "newest"], ["b/newest", "c/largest", "a/expired", "b/expired", "b/stale", "b/pinned"]),
        (["--by", "url"], ["a/expired", "b/expired", "b/newest", "b/pinned", "b/stale", "c/largest"]),
        (["--by", "largest", "--limit", "1"], ["c/largest"]), (["--tag", "cities"], ["b/newest", "a/expired"]),
        (["--host", "b.example", "--limit", "2"], ["b/newest", "b/expired"]),
        (["--expired"], ["a/expired", "b/expired"]),
        (["--expired", "--by", "url", "--host", "b.example"], ["b/expired"]),
        (["--expired", "--tag", "cities"], ["a/expired"]), (["--tag", "towns"], []),
    ]) func `lists entries in the given order and with the given filters`(arguments: [String], expected: [String])
        async throws
    {
        try await fill()
        let listed = try await cachectl(["list", "--json"] + arguments)
        let entries = try #require(JSONSerialization.jsonObject(with: listed.output) as? [[String: Any]])
        #expect(
            entries.map { $0["url"] as? String } == expected.map { "https://\($0.replacing("/", with: ".example/"))" })
    }

    @Test func `skips rows with invalid values, and lists the rows after them`() async throws {
        try await fill()
        try cachectl.temporary.run("UPDATE entry SET initial_age = -5 WHERE url LIKE 'https://b.%' AND body_size < 100")
        let first = try await cachectl("list", "--limit", "1", "--json")
        let entries = try #require(JSONSerialization.jsonObject(with: first.output) as? [[String: Any]])
        #expect(entries.map { $0["url"] as? String } == ["https://c.example/largest"])
        #expect(try await cachectl("list", "--limit", "1").errors.contains("there is more"))
        #expect(try await urls("--by", "newest") == ["https://c.example/largest", "https://a.example/expired"])
    }

    @Test(arguments: ["newest", "largest", "url"]) func `continues after the entry of a cursor`(
        order: String
    ) async throws {
        try await fill()
        let all = try await urls("--by", order)
        var (pages, cursor): ([String], [String]) = ([], [])
        repeat {
            let page = try await cachectl(["list", "--by", order, "--json", "--limit", "2"] + cursor)
            let entries = try #require(JSONSerialization.jsonObject(with: page.output) as? [[String: Any]])
            pages += entries.compactMap { $0["url"] as? String }
            cursor = entries.last.flatMap { $0["cursor"] as? String }.map { ["--after", $0] } ?? []
        } while !cursor.isEmpty
        #expect(pages == all && all.count == 6)
    }

    private func urls(_ arguments: String...) async throws -> [String] {
        let listed = try await cachectl(["list", "--json"] + arguments)
        let entries = try #require(JSONSerialization.jsonObject(with: listed.output) as? [[String: Any]])
        return entries.compactMap { $0["url"] as? String }
    }

    @Test func `prints the cursor of the next page if there is one, and refuses a cursor of another list`() async throws
    {
        try await fill()
        #expect(try await cachectl("list", "--limit", "6").errors.isEmpty)
        #expect(try await cachectl("list", "--limit", "\(Int.max)").status == 0)
        #expect(try await cachectl("list", "--limit", "0").status == 64)
        let note = try await cachectl("list", "--limit", "5").errors
        let cursor = try #require(note.wholeMatch(of: /there is more: --after ([A-Za-z0-9_-]+)\n/)).1
        let rest = try await cachectl("list", "--after", String(cursor))
        #expect(rest.text.split(separator: "\n").count == 2 && rest.text.contains("https://b.example/pinned"))
        #expect(try await cachectl("list", "--after", String(cursor), "--by", "url").status == 64)
        #expect(try await cachectl("list", "--after", "colour").status == 64)
    }

    @Test func `escapes control characters, and prints long URLs in full`() async throws {
        let (url, body) = ("https://a.example/" + String(repeating: "x", count: 1200), "a\u{9B}31m\u{7F}")
        try await cachectl.store([StoredEntry(url: url, body: Data(body.utf8))])
        #expect(try await cachectl("list").text.hasSuffix(" \(url)\n"))
        let key = try #require(try Cache(cachectl.temporary.store).list(limit: 1).first?.key.description)
        #expect(try await cachectl("show", key).text.contains("url         \(url)\n"))
        let shown = try await cachectl("show", key, "--json")
        #expect(!shown.text.unicodeScalars.contains { (0x7F...0x9F).contains($0.value) })
        let form = try #require(JSONSerialization.jsonObject(with: shown.output) as? [String: Any])
        #expect(form["body"] as? String == body)
    }

    @Test func `refuses an unknown order`() async throws {
        try await fill()
        #expect(try await cachectl("list", "--by", "colour").status == 64)
    }

    private func count(_ body: (inout CacheCounts) -> Void, daysAgo: Int64) async throws {
        let now = begin - daysAgo * 86_400_000
        let cache = try Cache(cachectl.temporary.store, timing: CacheTiming(now: { now }))
        var counts = CacheCounts(hour: now.hour)
        body(&counts)
        let written = counts
        cache.writer.count(in: counts.hour) { $0 = written }
        await cache.flush()
    }

    @Test func `ignores hours with invalid values`() async throws {
        try await count({ $0.hits += 3 }, daysAgo: 0)
        let most = Int64.max
        for hour in [most, most / 3_600_000 + 1] {
            try cachectl.temporary.write("INSERT INTO hour VALUES (\(hour), 1, 0, 0, 0, 0, 0, 0, 0)")
        }
        let now = Int64(Date().timeIntervalSince1970) / 3600
        try cachectl.temporary.write("INSERT INTO hour VALUES (\(now + 1), \(most), 0, 0, \(most), 0, 0, 0, 0)")
        for form in [[], ["--json"]] {
            let outcome = try await cachectl(["stats", "--days", "2"] + form)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(!outcome.text.contains("\(most)"))
        }
    }

    @Test func `sums the largest possible hourly counts without an overflow`() async throws {
        _ = try Cache(cachectl.temporary.store)
        let today = Int64(Date().timeIntervalSince1970) / 86_400
        for hour in 0..<24 {
            let values = Array(repeating: "1 << 53", count: 8).joined(separator: ", ")
            try cachectl.temporary.write("INSERT INTO hour VALUES (\(today * 24 + Int64(hour)), \(values))")
        }
        let table = try await cachectl("stats", "--days", "2")
        #expect(table.status == 0, "\(table.errors)")
        let cells = table.text.split(separator: "\n").last?.split(separator: " ").map(String.init) ?? []
        #expect(cells.dropFirst().first == "\(Int64(24) << 53)")
        #expect(cells.suffix(2) == ["75", "%"], "\(table.text)")
    }

    @Test func `sums the hourly counts by day`() async throws {
        try await fill()
        for _ in 0..<2 {
            try await count(
                {
                    $0.hits += 3; $0.misses += 1; $0.bytesServed += 1536; $0.millisecondsSaved += 750
                }, daysAgo: 1)
        }
        try await count(
            {
                $0.staleHits += 1; $0.revalidations += 1; $0.evictions += 12; $0.misses += 1
            }, daysAgo: 0)
        try await count({ $0.hits += 1000 }, daysAgo: 2)
        let day = { (ago: Double) in Date(timeIntervalSinceNow: -86400 * ago).formatted(.iso8601).prefix(10) }
        let table = try await cachectl("stats", "--days", "2").text
        #expect(
            table == """
                DAY         HITS  STALE  CONFIRMED  MISSES  STORES  EVICTED   SERVED   SAVED  RATIO
                \(day(1))     6      0          0       2       0        0  3.0 KiB   1.5 s   75 %
                \(day(0))     0      1          1       1       6       12      0 B  0.0 ms   66 %

                """
        )
        let json = try await cachectl("stats", "--days", "2", "--json")
        let hours = try #require(JSONSerialization.jsonObject(with: json.output) as? [[String: Any]])
        // The last counts may belong to the next hour.
        #expect(hours.first?["hits"] as? Int == 6 && hours.dropFirst().allSatisfy { $0["hits"] as? Int == 0 })
        #expect(hours.reduce(0) { $0 + ($1["evictions"] as? Int ?? 0) } == 12)
        #expect(hours.first?["millisecondsSaved"] as? Int == 1500)
    }

    @Test func `says that nothing happened, and refuses zero days`() async throws {
        _ = try Cache(cachectl.temporary.store)
        #expect(try await cachectl("stats", "--days", "1").errors == "nothing happened\n")
        #expect(try await cachectl("stats", "--days", "1", "--json").text.filter { !$0.isWhitespace } == "[]")
        #expect(try await cachectl("stats", "--days", "0").status == 64)
    }
}
