import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("The checksums of a body") struct BodyChecksumTests {
    private let store = BodyStore()
    /// In four chunks.
    private let body = Data.noise(500_000)

    /// Changes one byte of a chunk.
    private func damage(_ chunk: Int) throws {
        try store.temporary.execute(
            """
            UPDATE body SET bytes = CAST(substr(bytes, 1, 99) || x'00' || substr(bytes, 101) AS BLOB)
            WHERE id & 1048575 = \(chunk)
            """)
    }

    /// Stores a part in the form of an older program.
    private func oldPart() async throws -> CacheEntry {
        let entry = try CacheEntry.stub("a", body: body)
        let cache = try store.open()
        let writer = try cache.bodyWriter(for: entry, isResumable: true)
        try await writer.append(body.prefix(400_000), in: nil)
        try await writer.abandon(keepingPartial: true)
        try store.temporary.writeOldDigests()
        return entry
    }

    private func stored(_ body: Data) async throws -> CacheEntry {
        let entry = try CacheEntry.stub("a", body: body)
        let cache = try store.open()
        cache.store(entry)
        await cache.flush()
        return entry
    }

    @Test(arguments: 0..<4) func `find damage in each chunk`(chunk: Int) async throws {
        let entry = try await stored(body)
        try damage(chunk)
        let cache = try store.open()
        #expect(try cache.found(entry) == nil)
        #expect(store.events.dropped.count == 1)
        await cache.flush()
        #expect(try store.temporary.rows("entry") == 0)
    }

    @Test(arguments: 0..<4) func `verify only the chunks of a range`(chunk: Int) async throws {
        let entry = try await stored(body)
        try damage(chunk)
        let cache = try store.open()
        let reader = try #require(try cache.bodyReader(entry.key, request: entry.request))
        for number in 0..<4 where number != chunk {
            let start = number * CacheTable.chunkSize
            #expect(try reader.reading(start + 5..<start + 50).rest() == body[start + 5..<start + 50])
        }
        #expect(store.events.dropped.isEmpty)
        let start = chunk * CacheTable.chunkSize
        #expect(throws: CacheError.self) { try reader.reading(start + 5..<start + 50).rest() }
        #expect(store.events.dropped.count == 1)
    }

    @Test func `are of its chunks, and the rows of the body have none`() async throws {
        _ = try await stored(body)
        #expect(try store.temporary.rows("entry WHERE length(body_digest) = 1 + 4 * 8") == 1)
        #expect(try store.temporary.rows("body WHERE checksum IS NULL") == 4)
    }

    @Test(arguments: [0, 10, 131_072, 500_000])
    func `replace the SHA-256 of an older program when it is used`(size: Int) async throws {
        let entry = try await stored(body.prefix(size))
        try store.temporary.writeOldDigests()
        #expect(try store.temporary.oldEntries() == 1)
        let cache = try store.open()
        #expect(try cache.found(entry) == entry.stored.body)
        #expect(try cache.read(entry) == entry.stored.body)
        await cache.flush()
        #expect(try store.temporary.oldEntries() == 0)
        #expect(try cache.found(entry) == entry.stored.body)
        #expect(try cache.read(entry) == entry.stored.body)
        #expect(try CacheInspection(of: store.temporary.store).findings.isEmpty)
        #expect(store.events.dropped.isEmpty)
    }

    @Test func `a flush replaces the SHA-256 of used bodies up to a limit of bytes, and the next flushes do the rest`()
        async throws
    {
        let body = Data.noise(Int(CacheTable.renewalLimit) / 2)
        let entries = try ["a", "b", "c"].map { try CacheEntry.stub($0, body: body) }
        let first = try store.open()
        for entry in entries { first.store(entry) }
        await first.flush()
        try store.temporary.writeOldDigests()
        let cache = try store.open()
        for rest in [1, 0] {
            for entry in entries { #expect(try cache.found(entry) != nil) }
            await cache.flush()
            #expect(try store.temporary.oldEntries() == rest)
        }
        #expect(store.events.dropped.isEmpty)
    }

    @Test func `the checksums of bodies replace SHA-256 when a store is repaired`() async throws {
        _ = try await stored(body)
        try store.temporary.writeOldDigests()
        let inspection = try CacheInspection(of: store.temporary.store)
        #expect(inspection.findings.isEmpty)
        #expect(try store.temporary.oldEntries() == 1)
        #expect(try inspection.repair().isEmpty)
        #expect(try store.temporary.oldEntries() == 0)
        #expect(try CacheInspection(of: store.temporary.store).findings.isEmpty)
    }

    @Test(arguments: 0..<4, [false, true])
    func `do not replace the SHA-256 of a damaged one`(chunk: Int, isPiecewise: Bool)
        async throws
    {
        let entry = try await stored(body)
        try store.temporary.writeOldDigests()
        try damage(chunk)
        let cache = try store.open()
        let renewal = try cache.file.read { (connection) throws(SQLiteError) in
            try CacheTable.renewal(of: entry.key.prefix, on: connection)
        }
        #expect(renewal == nil)
        if isPiecewise {
            #expect(throws: CacheError.self) { try cache.read(entry) }
        } else {
            #expect(try cache.found(entry) == nil)
        }
        #expect(store.events.dropped.count == 1)
        await cache.flush()
        #expect(try store.temporary.rows("entry") == 0)
    }

    @Test func `do not replace those of a newer one`() async throws {
        let entry = try await stored(body)
        try store.temporary.writeOldDigests()
        let cache = try store.open()
        let renewal = try #require(
            try cache.file.read { (connection) throws(SQLiteError) in
                try CacheTable.renewal(of: entry.key.prefix, on: connection)
            })
        let newer = entry.with(.noise(500_000, seed: 2))
        cache.store(newer)
        await cache.flush()
        try cache.file.write { (connection) throws(SQLiteError) in try CacheTable.write(renewal, on: connection) }
        #expect(try cache.found(newer) == newer.stored.body)
    }

    @Test func `continue a part that an older program has stored`() async throws {
        let entry = try await oldPart()
        let cache = try store.open()
        let partial = try #require(try cache.partial(entry))
        #expect(partial.size == 400_000)
        #expect(try cache.reader(of: partial).rest() == body.prefix(400_000))
        let second = try cache.bodyWriter(for: entry, continuing: partial)
        try await second.append(body.dropFirst(400_000), in: nil)
        try await second.finish()
        #expect(try cache.found(entry) == body)
        #expect(try store.temporary.oldEntries() == 0)
    }

    @Test(arguments: 0..<4)
    func `do not continue a damaged part of an older program, which is dropped`(chunk: Int)
        async throws
    {
        let entry = try await oldPart()
        try damage(chunk)
        let cache = try store.open()
        // The lookup checks the last chunk.
        #expect(throws: CacheError.self) {
            let partial = try #require(try cache.partial(entry))
            _ = try cache.bodyWriter(for: entry, continuing: partial)
        }
        #expect(store.events.dropped.count == 1)
        await cache.flush()
        #expect(try store.temporary.rows("entry") == 0)
    }

    @Test func `the checksums of sealed bodies of an older program stay SHA-256`() async throws {
        try StoreFixture.open(version: "v3", in: store.temporary.store)
        let cache = try Cache(store.temporary.store, seal: AESGCMSeal.first, memoryCapacity: 0)
        for _ in 0..<2 {
            for entry in try StoreFixture.sealed() {
                #expect(try cache.found(entry) == entry.stored.body)
                #expect(try cache.read(entry) == entry.stored.body)
            }
            await cache.flush()
        }
        #expect(try store.temporary.rows("entry WHERE length(body_digest) = 32 AND seal IS NOT NULL") == 2)
    }

    @Test func `are written whole or not at all if power fails`() async throws {
        let entry = try await stored(body)
        try store.temporary.writeOldDigests()
        try store.temporary.moveLogIntoFile()
        let file = try Data(contentsOf: URL(filePath: store.temporary.store.cachePath))
        for call in 0..<60 {
            let temporary = TemporaryStore()
            try temporary.store.create()
            let path = temporary.store.cachePath
            try #require(
                FileManager.default.createFile(atPath: path, contents: file, attributes: [.posixPermissions: 0o600]))
            let disk = FaultDisk(directory: temporary.directory)
            disk.fail(.powerLoss, atCall: call)
            await use(entry, in: temporary.store, on: disk)
            await disk.closed()
            try disk.cutPower(seed: UInt64(call))
            #expect(try Cache(temporary.store, memoryCapacity: 0).found(entry) == body, "\(call)")
        }
    }

    private func use(_ entry: CacheEntry, in store: Store, on disk: FaultDisk) async {
        var store = store
        store.vfs = disk.vfs
        guard let cache = try? Cache(store, memoryCapacity: 0) else { return }
        _ = try? cache.found(entry)
        await cache.flush()
    }
}
