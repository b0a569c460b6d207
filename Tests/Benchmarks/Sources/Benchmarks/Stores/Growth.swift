import CPeers
import Diamond
import Foundation

extension Benchmark {
    /// A lookup reads one tree, whose height grows with the logarithm of the entries. Storing an entry changes a page
    /// in each of several trees. With few entries, many changes share a page. So storing takes 3 to 6 times as long
    /// in a large store, as measured for Schema/cache-v1.sql, and also in C.
    static let growth = [
        Benchmark(
            name: "growth-get",
            method: "processor time of a lookup among 1,000,000 entries, to one among 1,000",
            unit: "x 1,000",
            target: .atMost(3),
            isLong: true,
            measuring: { try await Growth.ofLookUps() }
        ),
        Benchmark(
            name: "growth-store",
            method: "processor time of storing an entry again, 64 in a transaction, among 1,000,000 entries, to 1,000",
            unit: "x 1,000",
            target: .atMost(6),
            isLong: true,
            measuring: { try await Growth.ofStores() }
        ),
        Benchmark(
            name: "growth-store-c",
            method: """
                factor by which storing an entry again takes longer than among 1,000 entries, to the same factor of C in \
                the same files, the worst of 10,000, 100,000 and 1,000,000 entries
                """,
            unit: "x C",
            target: .atMost(1.1),
            isLong: true,
            measuring: { try await Growth.ofStoresToC() }
        ),
    ]
}

private enum Growth {
    static let sizes = [1000, 10_000, 100_000, 1_000_000]
    private static let rounds = 7
    private static let count = 1920

    static func ofLookUps() async throws -> Benchmark.Measurement {
        let caches = try await caches()
        var times = GrowthTimes("Diamond")
        for round in 0...rounds {
            for (index, cache) in caches.enumerated() {
                let entries = entries(sizes[index])
                let effort = try await Effort.of { for entry in entries { try lookUp(entry, cache) } }
                if round > 0 { times.add(effort.processor / Double(count), at: index) }
            }
        }
        return Benchmark.Measurement(value: times.whole, notes: [times.note])
    }

    static func ofStores() async throws -> Benchmark.Measurement {
        let (ours, theirs) = try await stores()
        return Benchmark.Measurement(value: ours.whole, notes: [ours.note, theirs.note])
    }

    static func ofStoresToC() async throws -> Benchmark.Measurement {
        let (ours, theirs) = try await stores()
        let ratios = sizes.indices.dropFirst().map { index in
            zip(ours.ratios(at: index), theirs.ratios(at: index)).map { $0 / $1 }.median
        }
        return Benchmark.Measurement(value: ratios.max() ?? 0, notes: [ours.note, theirs.note])
    }

    /// Measures Diamond and C, one after the other in the same files.
    private static func stores() async throws -> (ours: GrowthTimes, theirs: GrowthTimes) {
        let (caches, peers) = (try await caches(), try await peers())
        defer { for peer in peers { store_peer_close(peer) } }
        var (ours, theirs) = (GrowthTimes("Diamond"), GrowthTimes("C"))
        for round in 0...rounds {
            for (index, size) in sizes.enumerated() {
                // The order alternates.
                for isOurs in [round % 2 == 0, round % 2 == 1] {
                    let entries = entries(size)
                    let time = try await isOurs ? store(entries, caches[index]) : store(entries, peers[index])
                    guard round > 0 else { continue }
                    if isOurs { ours.add(time, at: index) } else { theirs.add(time, at: index) }
                }
            }
        }
        return (ours, theirs)
    }

    private static func caches() async throws -> [Cache] {
        var caches: [Cache] = []
        for size in sizes { caches.append(try .onDisk(try await BigStore.directory(of: size))) }
        return caches
    }

    private static func peers() async throws -> [OpaquePointer] {
        var peers: [OpaquePointer] = []
        for size in sizes { peers.append(try StorePeer.open(try await BigStore.directory(of: size), isHanded: true)) }
        return peers
    }

    /// Some stored entries.
    private static func entries(_ size: Int) -> [CacheEntry] {
        (0..<count).map { _ in Entries.make(Int.random(in: 0..<size), bodySize: 128) }
    }

    private static func lookUp(_ entry: CacheEntry, _ cache: Cache) throws {
        guard try cache.findOnDisk(entry.key, request: entry.request) != nil else { throw Failure("not found") }
    }

    // MARK: Seconds of one store

    private static func store(_ entries: [CacheEntry], _ cache: Cache) async -> Double {
        await Effort.of {
            for entry in entries { cache.store(entry) }
            await cache.flush()
        }.processor / Double(count)
    }

    private static func store(_ entries: [CacheEntry], _ peer: OpaquePointer) async throws -> Double {
        for entry in entries { entry.withEntry { store_peer_prepare(peer, &$0) } }
        return try await Effort.of {
            guard store_peer_store(peer, count, 64) else { throw Failure("C cannot store") }
        }.processor / Double(count)
    }
}

/// The times of one kind of work, by the number of entries and the round.
private struct GrowthTimes {
    private let name: String
    /// Seconds.
    private var times = Growth.sizes.map { _ in [Double]() }

    init(_ name: String) { self.name = name }

    mutating func add(_ time: Double, at index: Int) { times[index].append(time) }

    /// The ratios to the fewest entries, by round.
    func ratios(at index: Int) -> [Double] { zip(times[index], times[0]).map { $0 / $1 } }

    /// The median ratio of the most entries to the fewest.
    var whole: Double { ratios(at: times.count - 1).median }

    var note: String {
        let cells = Growth.sizes.enumerated().map { index, size in
            String(format: "%d: %.1f µs (x %.2f)", size, times[index].median * 1e6, ratios(at: index).median)
        }
        return "\(name): " + cells.joined(separator: ", ")
    }
}
