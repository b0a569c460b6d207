import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("Queries of a sealed store") struct SealedUseTests {
    let temporary = TemporaryStore()

    private func filled() async throws -> Cache {
        let cache = try Cache(temporary.store, seal: AESGCMSeal.first, memoryCapacity: 0)
        try cache.setRecording(true)
        let entries = try [
            CacheEntry.stub("https://a.example/1", size: 30, tags: ["t"], identity: "anna"),
            .stub("https://a.example/10", size: 20, tags: ["t", "u"]),
            .stub("https://a.example:8443/1", size: 10, flags: [], identity: "anna"),
            .stub("https://b.example/1", size: 40, lifetime: nil, flags: [], tags: ["t"]),
        ]
        for entry in entries { cache.store(entry) }
        await cache.flush()
        return cache
    }

    private static let selections: [(CacheSelection, [String])] = [
        (.url("https://a.example/1"), ["a.example/1"]),
        (.url("https://a.example/"), []),
        (.url(prefix: "https://a.example/1"), ["a.example/1", "a.example/10"]),
        (.host("a.example"), ["a.example/1", "a.example/10", "a.example:8443/1"]),
        (.tag("t"), ["a.example/1", "a.example/10", "b.example/1"]),
        (.identity("anna"), ["a.example/1", "a.example:8443/1"]),
        (.expired(at: WallTime(rawValue: 1 << 40)), ["a.example:8443/1"]),
        (.stored(before: 1), ["a.example/1", "a.example/10", "a.example:8443/1", "b.example/1"]),
        (.all, ["a.example/1", "a.example/10", "a.example:8443/1", "b.example/1"]),
    ]

    @Test(arguments: selections.indices)
    func `sealed entries are listed, counted, invalidated and purged by their properties`(index: Int) async throws {
        let cache = try await filled()
        let (selection, names) = Self.selections[index]
        let urls = names.map { "https://\($0)" }
        #expect(try cache.list([selection], by: .url, limit: 9).map(\.url) == urls)
        #expect(try Set(cache.list([selection], limit: 9).map(\.url)) == Set(urls))
        #expect(try cache.count(selection) == urls.count)
        #expect(try await cache.invalidate(selection) == urls.count)
        #expect(try cache.count(selection, onlyValid: true) == 0)
        #expect(try await cache.invalidate(selection) == 0)
        #expect(try temporary.rows("access") == 4)
        #expect(try await cache.purge(selection) == urls.count)
        #expect(try temporary.rows("entry") == 4 - Int64(urls.count))
        #expect(try temporary.rows("access") == 4 - Int64(urls.count))
    }

    @Test func `sealed entries that are in every selection are listed, in any order and by page`() async throws {
        let cache = try await filled()
        let both = try cache.list([.tag("t"), .host("a.example")], by: .largest, limit: 9)
        #expect(both.map(\.url) == ["https://a.example/1", "https://a.example/10"])
        let newest = try #require(cache.list([.host("a.example")], limit: 1).first)
        let next = try cache.list([.host("a.example")], after: CacheCursor(after: newest, by: .newest), limit: 1)
        #expect(next.map(\.url) == ["https://a.example/10"])
        #expect(try cache.list([.tag("t"), .tag("u")], limit: 9).map(\.url) == ["https://a.example/10"])
        #expect(try cache.list([.host("b.example"), .identity("anna")], limit: 9).isEmpty)
    }

    /// A seal that counts the URLs that it opens.
    private struct CountingSeal: CacheSeal {
        let opened = Guarded(0)
        var keyID: String { "first" }

        func seal(_ bytes: Data, context: Data) throws -> Data { try AESGCMSeal.first.seal(bytes, context: context) }

        func open(_ bytes: Data, keyID: String, context: Data) throws -> Data {
            if context.starts(with: Data("diamond 1 request ".utf8)) { opened.withLock { $0 += 1 } }
            return try AESGCMSeal.first.open(bytes, keyID: keyID, context: context)
        }
    }

    @Test(arguments: [
        (CacheSelection.url("https://a.example/1"), 1, 0), (.host("a.example"), 3, 0),
        (.url(prefix: "https://a.example/1"), 2, 3), (.url(prefix: "https://a.example"), 3, 4),
    ]) func `a URL or host selects sealed entries without opening any, and a prefix opens those of its host`(
        selection: CacheSelection, count: Int, opened: Int
    ) async throws {
        _ = try await filled()
        let seal = CountingSeal()
        let cache = try Cache(temporary.store, seal: seal, memoryCapacity: 0)
        #expect(try cache.count(selection) == count)
        #expect(seal.opened.withLock { $0 } == opened)
        #expect(try await cache.invalidate(selection) == count)
        #expect(try await cache.purge(selection) == count)
        #expect(seal.opened.withLock { $0 } == opened * 3)
    }

    @Test func `digests of sealed URLs match no prefix, and differ between stores`() async throws {
        _ = try await filled()
        let digests = try temporary.texts("SELECT url FROM entry")
        #expect(Set(digests).count == 4 && digests.allSatisfy { $0.utf8.count == 65 })
        #expect(Set(digests.map { $0.prefix(33) }).count == 2)
        let clear = try Cache(temporary.store, memoryCapacity: 0)
        for digest in digests { #expect(try clear.count(.url(prefix: String(digest.prefix(1)))) == 0) }
        let other = TemporaryStore()
        let another = try Cache(other.store, seal: AESGCMSeal.first, memoryCapacity: 0)
        another.store(try .stub("https://a.example/1"))
        await another.flush()
        #expect(try Set(other.texts("SELECT url FROM entry")).isDisjoint(with: digests))
    }

    @Test func `sealed entries are selected by a predicate over their URLs`() async throws {
        let cache = try await filled()
        #expect(try await cache.invalidate { $0.url.hasSuffix("/1") } == 3)
        #expect(try await cache.purge { $0.url.contains("b.example") } == 1)
        #expect(try temporary.rows("entry") == 3)
    }

    @Test func `a URL prefix selects sealed entries in any number`() async throws {
        let cache = try Cache(temporary.store, seal: AESGCMSeal.first, memoryCapacity: 0)
        for index in 0..<1200 { cache.store(try .stub(index % 2 == 0 ? "even/\(index)" : "odd/\(index)")) }
        #expect(try await cache.invalidate(.url(prefix: "http://h/even/")) == 600)
        #expect(try await cache.purge(.url(prefix: "http://h/odd/")) == 600)
        #expect(try cache.count(.all) == 600)
    }

    @Test func `sealed entries that an unsafe method has changed are stale`() async throws {
        var configuration = Engine.Configuration(store: temporary.store)
        let transport = StubTransport(headers: [.cacheControl: "max-age=3600", .eTag: "\"1\""])
        configuration.transport = transport
        configuration.seal = AESGCMSeal.first
        configuration.memoryCapacity = 0
        let engine = Engine(configuration)
        let request = Request("http://h/changed-path")
        _ = try await engine.send(request)
        #expect(try await engine.send(request).source == .cache)
        var change = request
        change.method = .post
        _ = try await engine.send(change)
        _ = try await engine.send(request)
        #expect(transport.requests.count == 3)
        await engine.close()
        #expect(try temporary.bytes().firstRange(of: Data("changed-path".utf8)) == nil)
    }

    @Test func `sealed entries are evicted and their accesses replayed without the key`() async throws {
        _ = try await filled()
        let cache = try Cache(temporary.store, create: false)
        #expect(try cache.simulation().requests == 4)
        #expect(try await cache.evict(to: 1).count == 4)
        #expect(try temporary.rows("entry") == 0)
    }

    // MARK: Verifying

    @Test func `checksums of sealed entries are verified without the key, and seals with the key`() async throws {
        _ = try await filled()
        let keyless = try CacheInspection(of: temporary.store)
        #expect(keyless.entries == 4 && keyless.locked == 4 && keyless.findings.isEmpty)
        let whole = try CacheInspection(of: temporary.store, seal: AESGCMSeal.first)
        #expect(whole.entries == 4 && whole.locked == 0 && whole.findings.isEmpty)
        try temporary.execute("UPDATE entry SET duration = duration + 1 WHERE id = 2")
        #expect(try CacheInspection(of: temporary.store).findings.map(\.url) == ["•••"])
        let found = try CacheInspection(of: temporary.store, seal: AESGCMSeal.first)
        #expect(found.findings.map(\.url) == ["https://a.example/10"])
        #expect(try found.repair().map(\.action) == ["dropped"])
        #expect(try temporary.rows("entry") == 3)
    }

    @Test func `a forgery with right checksums is found with the key, and deleted`() async throws {
        _ = try await filled()
        try temporary.execute("UPDATE entry SET status = 404 WHERE id = 1")
        try temporary.sum()
        #expect(try CacheInspection(of: temporary.store).findings.isEmpty)
        let found = try CacheInspection(of: temporary.store, seal: AESGCMSeal.first)
        #expect(found.findings.map(\.what) == ["its seal is broken"])
        #expect(try found.repair().map(\.action) == ["dropped"])
        #expect(try CacheInspection(of: temporary.store, seal: AESGCMSeal.first).findings.isEmpty)
    }

    @Test func `an inspection with another key reports sealed entries as locked, not as damaged`() async throws {
        _ = try await filled()
        for seal in [AESGCMSeal.other, .impostor] {
            let inspection = try CacheInspection(of: temporary.store, seal: seal)
            #expect(inspection.findings.isEmpty && inspection.locked == 4)
        }
    }

    @Test func `the secret of sealed entries is not created again in plain form`() async throws {
        _ = try await filled()
        #expect(CacheDiagnosis(of: temporary.store).hasSecret)
        #expect(CacheDiagnosis(of: temporary.store).keyIDs == ["first"])
        try temporary.execute("DELETE FROM fact WHERE name LIKE 'secret%'")
        let inspection = try CacheInspection(of: temporary.store)
        #expect(inspection.findings.map(\.kind) == [.secret])
        #expect(try inspection.repair().map(\.action) == ["left to the next program with the key"])
        #expect(try temporary.rows("fact WHERE name = 'secret'") == 0)
        _ = try Cache(temporary.store, seal: AESGCMSeal.first)
        #expect(try CacheInspection(of: temporary.store).findings.isEmpty)
    }
}
