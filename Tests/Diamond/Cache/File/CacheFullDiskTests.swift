import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("A cache on a full disk", .limit(minutes: 5)) struct CacheFullDiskTests {
    private let temporary = TemporaryStore()
    private let disk: FaultDisk

    init() { disk = FaultDisk(directory: temporary.directory) }

    private var store: Store {
        var store = temporary.store
        store.vfs = disk.vfs
        return store
    }

    private var used: Int {
        get throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: temporary.directory.path)
            return try names.reduce(0) { try $0 + attribute(.size, of: temporary.directory.appending(path: $1).path) }
        }
    }

    private func attribute(_ key: FileAttributeKey, of path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[key] as? NSNumber).intValue
    }

    private var hasReserve: Bool { FileManager.default.fileExists(atPath: store.reservePath) }

    /// Stores entries until no byte of the disk is free.
    private func fill(_ cache: Cache, bodies size: Int) async throws {
        try disk.bound(used + 12 << 20)
        var number = 0
        while disk.failures == 0 {
            cache.store(try FaultEntries.entry(number, size: size))
            number += 1
            await cache.flush()
        }
        try disk.bound(used)
    }

    enum Removal: CaseIterable {
        case all, prefix, eviction

        /// - Returns: the number of removed entries.
        func run(_ cache: Cache) async throws -> Int {
            switch self {
            case .all: try await cache.purge()
            case .prefix: try await cache.purge(.url(prefix: "http://h/"))
            case .eviction: try await cache.evict(to: 1 << 20).count
            }
        }
    }

    @Test(arguments: [20 << 10, 3 << 20], Removal.allCases)
    func `a full disk is usable again after another process purges entries`(bodies: Int, removal: Removal) async throws
    {
        try await fill(try Cache(store, memoryCapacity: 0), bodies: bodies)
        await disk.closed()
        // The WAL index would count as used space. The last process to close a file need not delete it.
        try? FileManager.default.removeItem(atPath: store.cachePath + "-shm")
        try disk.bound(used)
        let full = try used
        let cache = try Cache(store, memoryCapacity: 0, diskCapacity: .max, create: false)
        let count = try cache.count(.all)
        #expect(count >= 3)
        let gone = try await removal.run(cache)
        #expect(try gone > 0 && cache.count(.all) == count - gone)
        #expect(removal == .eviction || gone == count)
        #expect(try used < full - Int(Reserve.size) - 4 << 20)
    }

    @Test(arguments: [20 << 10, 3 << 20], Removal.allCases)
    func `a full disk is usable again after other files are deleted`(bodies: Int, removal: Removal) async throws {
        let cache = try Cache(store, memoryCapacity: 0)
        try await fill(cache, bodies: bodies)
        let full = try used
        let count = try cache.count(.all)
        #expect(try await removal.run(cache) > 0)
        #expect(try used < full - Int(Reserve.size) - 4 << 20)
        #expect(try removal == .eviction ? cache.count(.all) < count : cache.count(.all) == 0)
        // There is space again.
        let entry = try FaultEntries.entry(1_000_000, size: 100 << 10)
        cache.store(entry)
        await cache.flush()
        #expect(cache.find(entry.key, request: entry.request)?.body == entry.stored.body)
    }

    @Test func `a cache reserves space again when it is next opened, at most a part of its limit`() throws {
        try withExtendedLifetime(Cache(store, memoryCapacity: 0)) { #expect(hasReserve) }
        #expect(Reserve(of: store).release() && !hasReserve && !Reserve(of: store).release())
        _ = try Cache(store, memoryCapacity: 0, create: false)
        #expect(!hasReserve)
        _ = try Cache(store, memoryCapacity: 0, diskCapacity: 16 << 20)
        #expect(try attribute(.size, of: store.reservePath) == 1 << 20)
        _ = try Cache(store, memoryCapacity: 0)
        #expect(try attribute(.size, of: store.reservePath) == 12 << 20)
        #expect(try attribute(.posixPermissions, of: store.reservePath) == 0o600)
    }

    @Test func `an error names the remedy if nothing can be purged`() async throws {
        let cache = try Cache(store, memoryCapacity: 0)
        cache.store(try FaultEntries.entry(1, size: 20 << 10))
        await cache.flush()
        disk.fail(.full, atCall: 1, lasting: true)
        let error = await #expect(throws: CacheError.self) { try await cache.purge() }
        #expect(error?.code == .diskFull && error?.message.contains("free 16 MiB on the disk") == true)
        disk.heal()
        #expect(try await cache.purge() == 1)
    }
}
