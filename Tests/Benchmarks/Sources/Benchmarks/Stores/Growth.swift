import Diamond
import Foundation

extension Benchmark {
    static let growth = [
        Benchmark(
            name: "growth-get",
            method: "processor time of a look-up among 1,000,000 entries, to one among 1,000",
            unit: "x 1,000",
            target: .atMost(3),
            isLong: true,
            measuring: { try await Growth.measurement(of: .lookUp) }
        ),
        Benchmark(
            name: "growth-store",
            method: "processor time of storing an entry anew, 64 in a transaction, among 1,000,000 entries, to 1,000",
            unit: "x 1,000",
            target: .atMost(3),
            isLong: true,
            measuring: { try await Growth.measurement(of: .store) }
        ),
    ]
}

private enum Growth {
    private static let sizes = [1000, 10_000, 100_000, 1_000_000]
    private static let rounds = 7

    enum Work: Sendable {
        case lookUp, store
    }

    static func measurement(of work: Work) async throws -> Benchmark.Measurement {
        var caches: [Cache] = []
        for size in sizes { caches.append(try .onDisk(try await BigStore.directory(of: size))) }
        var times = sizes.map { _ in [Double]() }
        for round in 0...rounds {
            for (index, size) in sizes.enumerated() {
                let entries = (0..<2048).map { _ in Entries.make(Int.random(in: 0..<size), bodySize: 128) }
                let time = try await Effort.of { try await run(work, caches[index], entries) }.processor
                if round > 0 { times[index].append(time / 2048 * 1e6) }
            }
        }
        let ratios = zip(times[3], times[0]).map { $0 / $1 }
        let cells = zip(sizes, times).map { String(format: "%d: %.1f µs", $0, $1.median) }
        return Benchmark.Measurement(value: ratios.median, notes: [cells.joined(separator: ", ")])
    }

    private static func run(_ work: Work, _ cache: Cache, _ entries: [CacheEntry]) async throws {
        switch work {
        case .lookUp: for entry in entries { try lookUp(entry, cache) }
        case .store:
            for entry in entries { cache.store(entry) }
            await cache.flush()
        }
    }

    private static func lookUp(_ entry: CacheEntry, _ cache: Cache) throws {
        guard try cache.findOnDisk(entry.key, request: entry.request) != nil else { throw Failure("not found") }
    }
}
