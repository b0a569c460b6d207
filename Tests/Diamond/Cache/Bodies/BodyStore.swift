import DiamondTestSupport
import DiamondTesting
import Foundation

@testable import Diamond

/// A store, plain or sealed, whose bodies are written and read in pieces.
struct BodyStore {
    let temporary = TemporaryStore()
    let events = RecordedCacheEvents()
    var isSealed = false

    /// Opens a cache that does not check for other processes' changes by itself, as long as no time passes.
    func open(
        capacity: Int64 = Cache.defaultDiskCapacity,
        memory: Int = 0,
        now: WallTime = 1_000_000_000,
        uptime: @escaping @Sendable () -> Uptime = { .min }
    ) throws -> Cache {
        let seal: (any CacheSeal)? = isSealed ? AESGCMSeal.first : nil
        return try Cache(
            temporary.store, seal: seal, activity: events.activity, memoryCapacity: memory, diskCapacity: capacity,
            timing: CacheTiming(now: { now }, uptime: uptime))
    }
}

extension CacheEntry {
    /// Returns the entry with another body.
    func with(_ body: Data) -> CacheEntry {
        var entry = self
        entry.stored.body = body
        return entry
    }
}

extension Cache {
    /// Writes an entry's body in pieces.
    func stream(_ entry: CacheEntry, in sizes: [Int]? = nil) async throws {
        let writer = try bodyWriter(for: entry)
        try await writer.append(entry.stored.body, in: sizes)
        try await writer.finish()
    }

    func found(_ entry: CacheEntry) throws -> Data? { try findOnDisk(entry.key, request: entry.request)?.body }

    func partial(_ entry: CacheEntry) throws -> PartialBody? { try partialBody(entry.key, request: entry.request) }

    /// Returns all the bytes of a reader.
    func read(_ entry: CacheEntry) throws -> Data? {
        try bodyReader(entry.key, request: entry.request)?.rest()
    }
}

extension BodyWriter {
    /// - Parameter sizes: the sizes of the pieces, repeated.
    func append(_ body: Data, in sizes: [Int]?) async throws {
        var (rest, number) = (body, 0)
        while !rest.isEmpty {
            let piece = rest.prefix(sizes.map { $0[number % $0.count] } ?? 100_000)
            try await append(piece)
            rest = rest.dropFirst(piece.count)
            number += 1
        }
    }
}

extension Data {
    /// Returns bytes of which no two chunks are equal.
    static func noise(_ count: Int, seed: UInt64 = 1) -> Data {
        var random = SplitMix(state: seed)
        let words = (0..<(count + 7) / 8).map { _ in random.next() }
        return words.withUnsafeBytes { Data($0.prefix(count)) }
    }
}
