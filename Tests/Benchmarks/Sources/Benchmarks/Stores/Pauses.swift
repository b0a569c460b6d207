import Diamond
import DiamondSQLite
import Foundation

extension Benchmark {
    static let pauses = [
        pause("eviction-pause", kibibytes: 16, count: 5000),
        pause("eviction-pause-256k", kibibytes: 256, count: 345),
    ]

    private static func pause(_ name: String, kibibytes: Int, count: Int) -> Benchmark {
        Benchmark(
            name: name,
            method: """
                longest lookup of a body of \(kibibytes) KiB in seven rounds, while the store is evicted from 96 MB to \
                40 MB, without the time that the thread waited for a processor (counted only on Linux); the notes have the \
                times with it, and those while another store is evicted and while none is
                """,
            unit: "ms",
            target: .atMost(10),
            measuring: { try await Pauses(bodySize: kibibytes << 10, count: count).measurement() }
        )
    }
}

/// A thread that looks up one entry after another while a store evicts.
private struct Pauses {
    private static let rounds = 7

    private let entries: [CacheEntry]

    init(bodySize: Int, count: Int) { entries = (0..<count).map { Entries.make($0, bodySize: bodySize) } }

    func measurement() async throws -> Benchmark.Measurement {
        var (own, other, none): ([LookUp], [LookUp], [LookUp]) = ([], [], [])
        for _ in 0..<Self.rounds {
            let round = try await besideItsEviction()
            own += round
            other += try await besideAnother { await evict($0) }
            let time = round.reduce(0) { $0 + $1.time }
            none += try await besideAnother { _ in try? await Task.sleep(for: .milliseconds(time)) }
        }
        return Benchmark.Measurement(
            value: own.map(\.pause).max() ?? 0,
            notes: [
                text("beside its own eviction", own), text("beside another store's", other), text("beside none", none),
            ]
        )
    }

    private func text(_ name: String, _ lookUps: [LookUp]) -> String {
        let times = lookUps.map(\.time).sorted()
        let part = times[min(times.count - 1, times.count * 999 / 1000)]
        return String(
            format: "%@: %d lookups, p50 %.3f ms, p99.9 %.2f ms, longest %.2f ms, %.2f ms without the waits",
            name, times.count, times.median, part, times.last ?? 0, lookUps.map(\.pause).max() ?? 0)
    }
}

/// The time of a lookup, in milliseconds.
private struct LookUp {
    var time: Double
    /// The part in which the thread waited for a processor.
    var waited: Double

    var pause: Double { max(0, time - waited) }
}

extension Pauses {
    private func besideItsEviction() async throws -> [LookUp] {
        try await Scratch.with { directory in
            let cache = try await filled(directory)
            return try await lookUps(in: cache) { await evict(cache) }
        }
    }

    /// The lookups in a store without writes, during work on another store.
    private func besideAnother(_ work: (Cache) async -> Void) async throws -> [LookUp] {
        try await Scratch.with { directory in
            let read = try await filled(directory.appendingPathComponent("read"))
            let other = try await filled(directory.appendingPathComponent("other"))
            return try await lookUps(in: read) { await work(other) }
        }
    }

    private func filled(_ directory: URL) async throws -> Cache {
        let cache = try Cache.onDisk(directory)
        try await cache.fill(with: entries)
        return cache
    }

    private func evict(_ cache: Cache) async {
        cache.diskCapacity = 56 << 20
        await cache.flush()
    }

    private func lookUps(in cache: Cache, during work: () async -> Void) async throws -> [LookUp] {
        let isDone = Guarded(false)
        async let reading = Threads.run { try lookUps(in: cache, until: isDone) }
        await work()
        isDone.withLock { $0 = true }
        return try await reading
    }

    private func lookUps(in cache: Cache, until isDone: Guarded<Bool>) throws -> [LookUp] {
        let wait = ProcessorWait()
        var lookUps: [LookUp] = []
        repeat {
            let entry = entries[Int.random(in: 0..<entries.count)]
            let waited = wait.seconds
            let start = Effort.seconds(CLOCK_MONOTONIC)
            _ = try cache.findOnDisk(entry.key, request: entry.request)
            let time = Effort.seconds(CLOCK_MONOTONIC) - start
            lookUps.append(LookUp(time: time * 1000, waited: (wait.seconds - waited) * 1000))
        } while !isDone.withLock({ $0 })
        return lookUps
    }
}
