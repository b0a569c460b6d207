import Diamond
import DiamondSQLite
import Foundation

extension Benchmark {
    static let pause = Benchmark(
        name: "eviction-pause",
        method: """
            the longest look-up while the store is brought from 96 MB to 40 MB, median of rounds; told beside it, the same \
            while another store is: what the machine itself puts on a reader
            """,
        unit: "ms",
        target: .atMost(10),
        measuring: { try await Pauses.measurement() }
    )
}

private enum Pauses {
    private static let rounds = 7
    private static let entryCount = 5000

    static func measurement() async throws -> Benchmark.Measurement {
        var (own, other): ([[Double]], [[Double]]) = ([], [])
        for _ in 0..<rounds {
            own.append(try await lookUps(isOwn: true))
            other.append(try await lookUps(isOwn: false))
        }
        return Benchmark.Measurement(
            value: own.map { $0.max() ?? 0 }.median,
            notes: [text("beside its own eviction", own), text("beside another store's", other)]
        )
    }

    private static func text(_ name: String, _ rounds: [[Double]]) -> String {
        let all = rounds.flatMap(\.self).sorted()
        let part = all[min(all.count - 1, all.count * 999 / 1000)]
        return String(
            format: "%@: %d look-ups, p50 %.3f ms, p99.9 %.2f ms, longest %.2f ms",
            name, all.count, all.median, part, all.last ?? 0)
    }
}

extension Pauses {
    /// Milliseconds of every look-up beside an eviction.
    ///
    /// - Parameter isOwn: whether it is the store that is read which evicts.
    private static func lookUps(isOwn: Bool) async throws -> [Double] {
        try await Scratch.with { directory in
            let entries = (0..<entryCount).map { Entries.make($0, bodySize: 16 << 10) }
            let evicted = try Cache.onDisk(directory.appendingPathComponent("evicted"))
            try await evicted.fill(with: entries)
            let read = isOwn ? evicted : try Cache.onDisk(directory.appendingPathComponent("read"))
            if !isOwn { try await read.fill(with: entries) }
            let isDone = Guarded(false)
            async let times = Threads.run { try lookUps(of: entries, in: read, until: isDone) }
            evicted.diskCapacity = 56 << 20
            await evicted.flush()
            isDone.withLock { $0 = true }
            return try await times
        }
    }

    private static func lookUps(
        of entries: [CacheEntry],
        in cache: Cache,
        until isDone: Guarded<Bool>
    ) throws -> [Double] {
        var times: [Double] = []
        while !isDone.withLock({ $0 }) {
            let entry = entries[Int.random(in: 0..<entries.count)]
            let start = Effort.seconds(CLOCK_MONOTONIC)
            _ = try cache.findOnDisk(entry.key, request: entry.request)
            times.append((Effort.seconds(CLOCK_MONOTONIC) - start) * 1000)
        }
        return times
    }
}
