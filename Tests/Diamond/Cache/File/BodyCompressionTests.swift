import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("A compressed body") struct BodyCompressionTests {
    let temporary = TemporaryStore()
    private let events = RecordedCacheEvents()

    private func open(compresses: Bool = true, isSealed: Bool = false) throws -> Cache {
        let seal: (any CacheSeal)? = isSealed ? AESGCMSeal.first : nil
        return try Cache(
            temporary.store, seal: seal, compresses: compresses, activity: events.activity, memoryCapacity: 0)
    }

    private func entry(_ name: String, _ body: Data, type: String = "application/json") throws -> CacheEntry {
        var entry = try CacheEntry.stub(name, body: body)
        entry.stored.headerBlock = Data("Content-Type: \(type)\nETag: \"1\"\n".utf8)
        return entry
    }

    /// Text as APIs send it, of which no two chunks are equal.
    private static func text(_ size: Int) -> Data {
        var text = Data()
        var number = 0
        while text.count < size {
            text += Data(#"{"id":\#(number),"name":"city \#(number * 7919)","country":"DE"},"#.utf8)
            number += 1
        }
        return text.prefix(size)
    }

    /// An entry in the form that a build with the trait writes, with its body uncompressed in its frames.
    private func storeFrames(_ frames: [Data], of entry: CacheEntry, in cache: Cache) throws {
        var entry = entry
        entry.stored.flags.insert(.compressed)
        let row = CacheRecord(entry, seal: nil, chunks: frames)
        try cache.file.write { (connection) throws(SQLiteError) in _ = try CacheTable.store(row, on: connection) }
    }

    private static func frame(_ bytes: Data, size: UInt32 = 0) -> Data {
        [UInt32(bytes.count + 4), size].map(\.littleEndian).withUnsafeBytes { Data($0) } + bytes
    }

    #if Compression
    @Test(arguments: [0, 1, 1023, 1024, 131_072, 131_073, 3_000_000], [false, true])
    func `is read byte for byte, whole and in pieces`(size: Int, isSealed: Bool) async throws {
        let cache = try open(isSealed: isSealed)
        let entry = try entry("a", Self.text(size))
        for isStreamed in [false, true] {
            if isStreamed { try await cache.stream(entry) } else { cache.store(entry) }
            await cache.flush()
            #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
            #expect(try cache.read(entry) == entry.stored.body)
            let head = try #require(try cache.bodyReader(entry.key, request: entry.request)).stored
            #expect(head == entry.stored.withoutBody)
            let stored = try #require(try cache.list(limit: 1).first).bodySize
            if size >= 1024, size != 1024 || !isSealed { #expect(stored < Int64(size) / 2, "\(stored)") }
            #expect(try CacheInspection(of: temporary.store, seal: isSealed ? .first : nil).findings.isEmpty)
        }
        #expect(events.dropped.isEmpty)
    }

    @Test func `a body is compressed only if it is text, long enough and becomes smaller`() async throws {
        let cache = try open()
        let text = Self.text(50_000)
        let cases: [(String, Data, Bool)] = [
            ("application/json; charset=utf-8", text, true), ("application/problem+json", text, true),
            ("image/svg+xml", text, true), ("Text/HTML", text, true), ("image/png", text, false),
            ("application/octet-stream", text, false), ("application/json", .noise(50_000), false),
            ("application/json", text.prefix(1000), false),
        ]
        for (number, (type, body, isCompressed)) in cases.enumerated() {
            let entry = try entry("\(number)", body, type: type)
            cache.store(entry)
            await cache.flush()
            let listing = try #require(try cache.list([.key(entry.key)], limit: 1).first)
            #expect((listing.bodySize < Int64(body.count)) == isCompressed, "\(type)")
            #expect(try cache.found(entry) == body, "\(type)")
        }
    }

    @Test func `is read by the same cache as others`() async throws {
        let (one, other) = (try open(), try open(compresses: false))
        let entries = [try entry("a", Self.text(300_000)), try entry("b", Self.text(300_000))]
        one.store(entries[0])
        other.store(entries[1])
        for cache in [one, other] { await cache.flush() }
        for cache in [one, other] { for entry in entries { #expect(try cache.found(entry) == entry.stored.body) } }
        other.store(entries[0])
        await other.flush()
        #expect(try one.found(entries[0]) == entries[0].stored.body)
    }

    @Test(arguments: [false, true]) func `stays in place where a 304 confirms it`(isSealed: Bool)
        async throws
    {
        let cache = try open(isSealed: isSealed)
        var entry = try entry("a", Self.text(300_000))
        cache.store(entry)
        await cache.flush()
        let old = entry.stored
        entry.stored.storedAt = 77
        cache.confirm(entry, replacing: old)
        await cache.flush()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
    }

    @Test(arguments: [false, true]) func `a compressed partial body is continued`(isSealed: Bool) async throws {
        let entry = try entry("a", Self.text(3_000_000))
        let first = try open(isSealed: isSealed).bodyWriter(for: entry)
        try await first.append(entry.stored.body.prefix(1_500_001))
        try await first.abandon(keepingPartial: true)
        let cache = try open(isSealed: isSealed)
        let partial = try #require(try cache.partial(entry))
        #expect(partial.size == 1_500_001)
        #expect(partial.stored.flags == entry.stored.flags)
        let second = try cache.bodyWriter(for: entry, continuing: partial)
        try await second.append(entry.stored.body.dropFirst(partial.size))
        try await second.finish()
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
    }

    @Test func `is deleted where it would expand beyond its declared size`() async throws {
        let cache = try open()
        let packed = BodyCompression.pack(Data(count: 100_000)).dropFirst(8)
        let bombs = [
            Self.frame(packed, size: 1000), Self.frame(packed, size: 131_073), Self.frame(packed, size: 100_001),
            Self.frame(packed, size: .max), Self.frame(packed).dropLast(), Data([1, 2, 3]),
        ]
        for (number, bomb) in bombs.enumerated() {
            let entry = try entry("\(number)", Data())
            try storeFrames([bomb], of: entry, in: cache)
            #expect(try cache.found(entry) == nil, "\(number)")
            #expect(events.dropped.count == number + 1)
        }
    }

    @Test func `a body left uncompressed within its frame is read`() async throws {
        let cache = try open()
        let entry = try entry("a", Data("body".utf8))
        try storeFrames([Self.frame(Data("body".utf8))], of: entry, in: cache)
        #expect(try cache.found(entry) == Data("body".utf8))
    }

    @Test(arguments: [false, true]) func `is recorded with its size on disk`(isStreamed: Bool)
        async throws
    {
        let cache = try open()
        try cache.setRecording(true)
        let entry = try entry("a", Self.text(3_000_000))
        if isStreamed { try await cache.stream(entry) } else { cache.store(entry) }
        await cache.flush()
        cache.count(.cache, of: entry.stored, under: entry.key)
        await cache.flush()
        let stored = try #require(try cache.list(limit: 1).first).bodySize
        let recorded = try cache.file.read(CacheTable.accesses).accesses
        #expect(recorded.map(\.kind) == [.stored, .hit])
        #expect(recorded.map(\.bodySize) == [3_000_000, 3_000_000])
        #expect(stored < 1_500_000)
        let size = stored + Int64(entry.stored.headerBlock.count) + CacheAccess.rowSize
        #expect(recorded.map(\.entrySize) == [size, size])
    }

    @Test func `a body is compressed by an engine that is configured to`() async throws {
        let text = String(decoding: Self.text(20_000), as: UTF8.self)
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = StubTransport(
            headers: [.contentType: "application/json", .cacheControl: "max-age=3600"], body: text)
        configuration.compressesBodies = true
        let engine = Engine(configuration)
        _ = try await engine.send(Request("http://h/a"))
        await engine.cache?.flush()
        #expect(try #require(engine.cache).totals().bodyBytes < 10_000)
        #expect(try await Engine(configuration).send(Request("http://h/a")).body == Data(text.utf8))
    }
    #else
    @Test func `a program without the trait misses a compressed body, reports that once, and keeps it`() async throws {
        let cache = try open()
        for name in ["a", "b"] {
            let entry = try entry(name, Data("body".utf8))
            try storeFrames([Self.frame(Data("body".utf8))], of: entry, in: cache)
            #expect(try cache.found(entry) == nil)
            #expect(try cache.bodyReader(entry.key, request: entry.request) == nil)
        }
        #expect(events.locked.count == 1 && events.dropped.isEmpty)
        #expect(try CacheInspection(of: temporary.store).findings.isEmpty)
        #expect(try temporary.rows("entry") == 2)
    }
    #endif
}
