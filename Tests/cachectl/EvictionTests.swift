import DiamondInspection
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl, evicting", .limit(minutes: 5)) struct EvictionTests {
    let cachectl = Shell()

    private func fill() async throws {
        let body = Data(repeating: 7, count: 100_000)
        let expired = (0..<5).map {
            StoredEntry(url: "https://a.example/expired/\($0)", body: body, age: 100_000, lifetime: 1, flags: [])
        }
        let others = (0..<15).map { StoredEntry(url: "https://a.example/\($0)", body: body) }
        try await cachectl.store(others + expired)
    }

    private func urls() throws -> [String] { try Cache(cachectl.temporary.store).list(limit: 99).map(\.url) }

    @Test func `evicts entries down to a bound, expired ones first, and prints their number and size`() async throws {
        try await fill()
        let before = try Cache(cachectl.temporary.store).totals().diskBytes
        let planned = try await cachectl("evict", "--to", "3.6MB", "--dry-run")
        #expect(planned.text.contains(/would evict about \d+ KiB: 2\.\d MiB used of 1\.7 MiB\n/), "\(planned.text)")
        #expect(try urls().count == 20)
        let evicted = try await cachectl("evict", "--to", "3.6MB")
        #expect(evicted.text.contains(/evicted \d+ entries, \d+ KiB: 1\.\d MiB used of 1\.7 MiB\n/), "\(evicted.text)")
        let left = try urls()
        #expect((5..<18).contains(left.count) && !left.contains { $0.contains("expired") }, "\(left)")
        let cache = try Cache(cachectl.temporary.store)
        #expect(try cache.totals().diskBytes < before)
        #expect(try cache.statistics().map(\.evictions).reduce(0, +) == Int64(20 - left.count))
        #expect(try await cachectl("evict", "--to", "3.6MB").text.hasPrefix("evicted 0 entries, 0 B: "))
    }

    @Test func `prints JSON with --json, and uses the default bound if none is recorded`() async throws {
        try await fill()
        try cachectl.temporary.run("DELETE FROM fact WHERE name = 'capacity'")
        let planned = try #require(try await cachectl.object("evict", "--dry-run") as? [String: Int])
        #expect(planned["bound"] == 240 << 20)
        #expect(planned["wouldEvictBytes"] == 0)
        #expect(planned["used"] ?? 0 > 2_000_000)
        let evicted = try #require(try await cachectl.object("evict", "--to", "0") as? [String: Int])
        #expect(evicted["evicted"] == 20)
        #expect(evicted["evictedBytes"] ?? 0 > 2_000_000)
        #expect(try urls().isEmpty)
    }

    @Test func `does not evict a pinned entry until it is unpinned`() async throws {
        try await fill()
        let key = try #require(try Cache(cachectl.temporary.store).list(limit: 1).first?.key.description.prefix(12))
        #expect(try await cachectl("pin", String(key)).text == "pinned \(key) https://a.example/0\n")
        #expect(try await cachectl("show", String(key)).text.contains(", pinned\n"))
        _ = try await cachectl("evict", "--to", "0")
        #expect(try urls() == ["https://a.example/0"])
        #expect(try await cachectl.object("unpin", String(key))?["pinned"] as? Bool == false)
        _ = try await cachectl("evict", "--to", "0")
        #expect(try urls().isEmpty)
        #expect(try await cachectl("pin", String(key)).status == 1)
    }

    @Test(arguments: ["", "MB", "1e3", "inf", "-1", "1.2.3MB", "99999999TB", "5 apples"])
    func `refuses an invalid size`(size: String) async throws {
        try await fill()
        #expect(try await cachectl("evict", "--to", size).status == 64)
        #expect(try urls().count == 20)
    }

    @Test func `ends for a file that cannot shrink`() async throws {
        try await fill()
        try cachectl.temporary.rebuildWithoutVacuum()
        _ = try await cachectl("evict", "--to", "3MB")
        #expect(try await cachectl("evict", "--to", "0").status == 0)
    }

    /// Whether a program has recorded the bound of the store.
    enum Bound: CaseIterable { case recorded, unrecorded }

    // Only the program that owns a store bounds its size.
    @Test(arguments: Bound.allCases)
    func `evicts nothing with other commands, even from a store that exceeds the default bound`(
        bound: Bound
    ) async throws {
        let body = Data(repeating: 7, count: 30 << 20)
        for part in 0..<9 { try await cachectl.store([StoredEntry(url: "https://a.example/\(part)", body: body)]) }
        if bound == .unrecorded { try cachectl.temporary.run("DELETE FROM fact WHERE name = 'capacity'") }
        let key = try #require(try Cache(cachectl.temporary.store, diskCapacity: .max).list(limit: 1).first?.key)
        #expect(try await cachectl("purge", key.description).text == "erased 1 entry\n")
        let sent = try await cachectl("send", SampleServer.shared.base + "/wire/bytes/50000", "--max-age", "60")
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(try await cachectl("queue", "add", "-X", "POST", "http://127.0.0.1:1/").status == 0)
        _ = try await cachectl("queue", "replay")
        #expect(try urls().count == 9)
    }

    @Test func `uses the bound that a program has recorded if none is given`() async throws {
        let cache = try Cache(cachectl.temporary.store, diskCapacity: 400 << 20)
        cache.store(try StoredEntry(url: "https://a.example/").cacheEntry(storedAt: WallTime(rawValue: 0), cache.rules))
        await cache.flush()
        let planned = try #require(try await cachectl.object("evict", "--dry-run") as? [String: Int])
        let bound = try #require(planned["bound"])
        #expect(bound > 300 << 20 && bound <= 400 << 20)
        #expect(try #require(try await cachectl.object("evict") as? [String: Int])["bound"] == bound)
        #expect(try cache.recordedCapacity() == 400 << 20)
    }

    @Test func `does not change the bound that a program has recorded`() async throws {
        let cache = try Cache(cachectl.temporary.store, diskCapacity: 64 << 20)
        cache.store(try StoredEntry(url: "https://a.example/").cacheEntry(storedAt: WallTime(rawValue: 0), cache.rules))
        await cache.flush()
        _ = try await cachectl("send", SampleServer.shared.base + "/wire/bytes/500", "--max-age", "60")
        #expect(try cache.recordedCapacity() == 64 << 20)
    }
}
