import Diamond
import Foundation

extension Benchmark {
    /// The cost and the savings of compression: the disk tier with zlib, compared to the same without, on JSON.
    static let compressed = [
        compressed("get-8k", "processor time of lookups", .atMost(5), 8) { try await $0.getRatio() },
        compressed("put-8k", "processor time of stores", .atMost(5), 8) { try await $0.putRatio() },
        compressed("bytes-8k", "bytes of bodies", .atMost(0.5), 8) { try $0.bytesRatio() },
        compressed("get-100k", "processor time of lookups", .atMost(5), 100) { try await $0.getRatio() },
        compressed("put-100k", "processor time of stores", .atMost(5), 100) { try await $0.putRatio() },
        compressed("bytes-100k", "bytes of bodies", .atMost(0.5), 100) { try $0.bytesRatio() },
    ]

    private static func compressed(
        _ name: String,
        _ what: String,
        _ target: Target,
        _ kibibytes: Int,
        _ measure: @escaping @Sendable (Compressed) async throws -> Double
    ) -> Benchmark {
        Benchmark(
            name: "compression-\(name)",
            method: "\(what) on disk with zlib, pages of GeoNames' cities as JSON, to the same without",
            unit: "x plain",
            target: target,
            measure: { try await Scratch.with { try await measure(Compressed($0, kibibytes << 10)) } }
        )
    }
}

/// Two stores with the same entries, one of them compressed.
private struct Compressed {
    private let compressed: Cache
    private let plain: Cache
    private let entries: [CacheEntry]

    init(_ directory: URL, _ bodySize: Int) async throws {
        compressed = try Cache(
            Store(directory: directory.appendingPathComponent("zlib")), compresses: true, memoryCapacity: 0)
        plain = try Cache(Store(directory: directory.appendingPathComponent("plain")), memoryCapacity: 0)
        let cities = try Data(contentsOf: Self.cities)
        entries = (0..<8_000_000 / bodySize / 2).map { number in
            var entry = Entries.make(number, bodySize: 0)
            let start = number * 7919 % (cities.count - bodySize)
            entry.stored.body = Data(cities[start..<start + bodySize])
            return entry
        }
        for cache in [compressed, plain] { try await put(cache) }
        guard try bytesRatio() < 1 else { throw Failure("built without the trait Compression") }
        // Uses each entry once, because the first use is recorded on disk.
        for cache in [compressed, plain] { try get(cache) }
        for cache in [compressed, plain] { await cache.flush() }
    }

    private static var cities: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../../Fixtures/GeoNames/cities.json").standardizedFileURL
    }

    func getRatio() async throws -> Double {
        try await Race(ours: { try get(compressed) }, peer: { try get(plain) }).ratio(of: \.processor)
    }

    func putRatio() async throws -> Double {
        try await Race(ours: { try await put(compressed) }, peer: { try await put(plain) }).ratio(of: \.processor)
    }

    func bytesRatio() throws -> Double {
        Double(try compressed.totals().bodyBytes) / Double(try plain.totals().bodyBytes)
    }

    private func get(_ cache: Cache) throws {
        for entry in entries {
            let found = try cache.findOnDisk(entry.key, request: entry.request)
            guard found?.body.count == entry.stored.body.count else { throw Failure("an entry was not found") }
        }
    }

    private func put(_ cache: Cache) async throws {
        for entry in entries { cache.store(entry) }
        await cache.flush()
    }
}
