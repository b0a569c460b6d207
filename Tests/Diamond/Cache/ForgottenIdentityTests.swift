import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("A store after a sign-out") struct ForgottenIdentityTests {
    private let temporary = TemporaryStore()
    private let folder = TemporaryFolder()
    private static let anna = "anna-marker"

    /// Stores an entry whose texts have the name of its identity, in the place of an earlier one of the number.
    private func store(_ number: Int, of identity: String, in cache: Cache, _ random: inout SplitMix) throws {
        let text = "\(identity) \(String(repeating: "\(identity) body ", count: random.below(900)))"
        var entry = try CacheEntry.stub(
            "http://h/\(number)", body: Data(text.utf8), tags: ["tag-\(identity)"], identity: identity)
        entry.url = "http://h/\(identity)/\(number)"
        let header = String(repeating: "X-User: \(identity)\n", count: 1 + random.below(40))
        entry.stored.headerBlock = Data("ETag: \"1\"\n\(header)".utf8)
        cache.store(entry)
    }

    private func leavePart(in cache: Cache) async throws {
        let body = Data(String(repeating: "\(Self.anna) part ", count: 40_000).utf8)
        let writer = try cache.bodyWriter(for: .stub("http://h/part", body: body, identity: Self.anna))
        try await writer.append(body)
        try await writer.abandon(keepingPartial: true)
    }

    private func leaveDownload(in cache: Cache) async throws {
        let form = try CanonicalForm(of: Request("http://h/file"), rules: KeyRules())
        let part = PartFile.name(isKept: true)
        _ = try folder.file(part, Data("\(Self.anna) file".utf8))
        _ = try await cache.record(
            KeptDownload(
                CacheEntry(
                    key: form.key, request: form.bytes, url: "http://h/\(Self.anna)", method: "GET",
                    identity: Self.anna, stored: .head("ETag: \"1\"\n", at: 1)),
                part: part, for: folder.url.appending(path: "\(Self.anna).zip").path, size: 10, writtenAt: cache.now()))
    }

    @Test func `has no byte of the identity in its files`() async throws {
        let cache = try Cache(temporary.store)
        try cache.setRecording(true)
        var random = SplitMix(state: 1)
        // Replaced and erased in random order, so that SQLite moves rows between pages.
        for _ in 0..<1500 {
            let identity = random.below(2) == 0 ? Self.anna : "bert"
            try store(random.below(500), of: identity, in: cache, &random)
            if random.below(10) == 0 {
                _ = try await cache.purge(.key(CacheEntry.stub("http://h/\(random.below(500))").key))
            }
            if random.below(8) == 0 { await cache.flush() }
        }
        try await leavePart(in: cache)
        try await leaveDownload(in: cache)
        await cache.flush()
        let others = try cache.count(.identity("bert"))
        #expect(try others > 0 && cache.count(.identity(Self.anna)) > 0)
        #expect(try temporary.bytes().firstRange(of: Data(Self.anna.utf8)) != nil)
        try await cache.purge(.identity(Self.anna))
        #expect(try temporary.bytes().firstRange(of: Data(Self.anna.utf8)) == nil)
        #expect(try cache.count(.identity("bert")) == others)
        #expect(folder.names.isEmpty)
        #expect(try temporary.integrity() == "ok")
        // The file is used as before.
        try store(1, of: "bert", in: cache, &random)
        await cache.flush()
        #expect(try cache.count(.identity("bert")) >= others)
    }

    @Test func `a store is rewritten by a logout only if something of an identity was erased`() async throws {
        let cache = try Cache(temporary.store)
        let rewrites = try cache.file.database.rewrites()
        var random = SplitMix(state: 1)
        for number in 0..<9 { try store(number, of: number == 0 ? "bert" : Self.anna, in: cache, &random) }
        await cache.flush()
        try await cache.purge(.identity("carl"))
        #expect(try cache.file.database.rewrites() == rewrites)
        try await cache.purge(.identity(Self.anna))
        #expect(try cache.file.database.rewrites() == rewrites + 1)
        try await cache.purge(.identity(Self.anna))
        #expect(try cache.file.database.rewrites() == rewrites + 1)
        // Erased before the logout, which finds no row.
        try await cache.purge(.tag("tag-bert"))
        #expect(try await cache.purge(.identity("bert")) == 0)
        #expect(try cache.file.database.rewrites() == rewrites + 2)
    }

    @Test(arguments: [false, true])
    func `a logout rewrites a store from which the last row of the identity was dropped before`(
        isPart: Bool
    ) async throws {
        let cache = try Cache(temporary.store)
        let rewrites = try cache.file.database.rewrites()
        var random = SplitMix(state: 1)
        if isPart {
            try await leavePart(in: cache)
            cache.dropPart(of: try CacheEntry.stub("http://h/part", identity: Self.anna).key)
        } else {
            try store(1, of: Self.anna, in: cache, &random)
            await cache.flush()
            cache.forget(try CacheEntry.stub("http://h/1", identity: Self.anna).key)
        }
        await cache.flush()
        #expect(try await cache.purge(.identity(Self.anna)) == 0)
        #expect(try cache.file.database.rewrites() == rewrites + 1)
    }

    @Test func `a store of a process that ended in a logout is rewritten when it is opened again`() async throws {
        let first = try Cache(temporary.store)
        let rewrites = try first.file.database.rewrites()
        try first.file.write { (connection) throws(SQLiteError) in try CacheTable.note(.signOut, on: connection) }
        let second = try Cache(temporary.store)
        try await untilTrue { try second.file.read(CacheTable.erasure) == nil }
        #expect(try second.file.database.rewrites() == rewrites + 1)
        // Rows that were evicted wait for the next logout.
        try first.file.write { (connection) throws(SQLiteError) in try CacheTable.note(.other, on: connection) }
        let third = try Cache(temporary.store)
        await third.flush()
        #expect(try third.file.database.rewrites() == rewrites + 1)
    }
}
