import DiamondSQLite
import DiamondSchema
import DiamondTestSupport
import DiamondTesting
import Foundation

@testable import Diamond
@testable import DiamondInspection

/// The entries of the files in `Tests/Fixtures/Stores`, which has one file for each version of the schema.
/// `scripts/fixture` writes the newest again; the others stay as their versions wrote them.
enum StoreFixture {
    /// The time when the entries were stored.
    static let now: WallTime = 1_767_225_600_000
    /// In two chunks.
    static let large = Data((0..<132_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })

    /// The names of the versions, oldest first. Version 1 has an older form, because its script was changed in place.
    static let versions = ["v1a"] + (1...DiamondSchema.cache.migrations.count).map { "v\($0)" }

    static var newest: String { versions.last ?? "" }

    static func url(version: String) -> URL { Fixture.directory.appending(path: "Stores/cache-\(version).sqlite") }

    static func clear() throws -> [CacheEntry] {
        var entries = try [
            CacheEntry.stub("https://api.example.com/plain", body: Data("{\"plain\":true}".utf8), tags: ["a", "b"]),
            .stub("https://api.example.com/large", body: large),
            .stub("https://api.example.com/empty", body: Data(), lifetime: nil, flags: .noCache),
            .stub("https://api.example.org/mine", tags: ["b"], identity: "anna"),
            .stub("https://api.example.org/pinned", lifetime: 0, flags: []),
            .stub("https://api.example.org/stale", flags: [.hasValidator, .mustRevalidate]),
        ]
        for index in entries.indices { entries[index].stored.storedAt = now + Int64(index) }
        return entries
    }

    static func sealed() throws -> [CacheEntry] {
        var entries = try [
            CacheEntry.stub("https://sealed.example/small", body: Data("secret".utf8), tags: ["a"], identity: "anna"),
            .stub("https://sealed.example/large", body: large),
        ]
        for index in entries.indices { entries[index].stored.storedAt = now + Int64(index) }
        return entries
    }

    /// Writes a store with all entries, three recorded uses of the first, and a miss.
    static func write(to store: Store) async throws {
        let clear = try clear()
        let cache = try Cache(store, memoryCapacity: 0, timing: CacheTiming(now: { now }))
        try cache.setRecording(true)
        for entry in clear { cache.store(entry) }
        await cache.flush()
        for _ in 0..<3 { cache.count(.cache, of: clear[0].stored, under: clear[0].key) }
        cache.countMiss()
        _ = try cache.findOnDisk(clear[1].key, request: clear[1].request)
        try await cache.pin(clear[4].key)
        try await cache.invalidate(.key(clear[5].key))
        let sealing = try Cache(store, seal: AESGCMSeal.first, memoryCapacity: 0, timing: CacheTiming(now: { now }))
        for entry in try sealed() { sealing.store(entry) }
        await sealing.flush()
        // Into one file, without the log.
        try sealing.file.database.emptyLog()
    }

    /// Puts a copy of a version's file into a store.
    static func open(version: String, in store: Store) throws {
        try store.create()
        try FileManager.default.copyItem(atPath: url(version: version).path, toPath: store.cachePath)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: store.cachePath)
    }
}
