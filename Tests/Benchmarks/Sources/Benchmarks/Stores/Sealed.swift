import Diamond
import Foundation

extension Benchmark {
    /// The cost of a seal: the disk tier with AES-GCM, compared to the same without.
    static let sealed = [
        sealed("get-1k", .atMost(3), { try await Sealed(directory: $0, bodySize: 1 << 10, count: 2000).getRatio() }),
        sealed("get-100k", .atMost(2), { try await Sealed(directory: $0, bodySize: 100 << 10, count: 200).getRatio() }),
        sealed("put-1k", .atMost(2), { try await Sealed(directory: $0, bodySize: 1 << 10, count: 2000).putRatio() }),
        sealed("put-100k", .atMost(2), { try await Sealed(directory: $0, bodySize: 100 << 10, count: 200).putRatio() }),
    ]

    private static func sealed(
        _ name: String,
        _ target: Target,
        _ measure: @escaping @Sendable (URL) async throws -> Double
    ) -> Benchmark {
        Benchmark(
            name: "sealed-\(name)",
            method: "processor time on disk with AES-GCM, to the same in clear",
            unit: "x clear",
            target: target,
            measure: { try await Scratch.with(measure) }
        )
    }
}

/// Two stores with the same entries, one of them sealed.
private struct Sealed {
    private let sealed: Cache
    private let clear: Cache
    private let entries: [CacheEntry]

    init(directory: URL, bodySize: Int, count: Int) async throws {
        let seal = try AESGCMSeal(key: Data((0..<32).map { _ in UInt8.random(in: 0...255) }))
        sealed = try Cache(
            Store(directory: directory.appendingPathComponent("sealed")), seal: seal, memoryCapacity: 0)
        clear = try Cache(Store(directory: directory.appendingPathComponent("clear")), memoryCapacity: 0)
        entries = (0..<count).compactMap { Self.entry($0, bodySize) }
        for cache in [sealed, clear] { try await put(cache) }
    }

    private static func entry(_ number: Int, _ bodySize: Int) -> CacheEntry? {
        var generator = SystemRandomNumberGenerator()
        let url = "https://api.example.com/v1/cities?country=DE&page=\(number)&perPage=50"
        let digest = Data((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
        let headers = "Content-Type: application/json\nCache-Control: max-age=3600\nETag: \"\(number)\"\n"
        guard let key = RequestKey(stored: digest) else { return nil }
        let stored = StoredResponse(
            status: 200, headerBlock: Data(headers.utf8),
            body: Data((0..<bodySize).map { _ in UInt8.random(in: 0x20...0x7E, using: &generator) }),
            storedAt: WallTime(rawValue: 1_736_236_800_000), initialAge: 0, lifetime: 3_600_000, flags: .hasValidator)
        return CacheEntry(
            key: key, request: Array("GET\n\(url)\naccept: application/json\n".utf8), url: url, method: "GET",
            stored: stored)
    }

    func getRatio() async throws -> Double {
        try await Race(ours: { try get(sealed) }, peer: { try get(clear) }).ratio(of: \.processor)
    }

    func putRatio() async throws -> Double {
        try await Race(ours: { try await put(sealed) }, peer: { try await put(clear) }).ratio(of: \.processor)
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
