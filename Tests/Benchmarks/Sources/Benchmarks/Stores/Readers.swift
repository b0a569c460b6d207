import CPeers
import Diamond
import DiamondSQLite
import Foundation

extension Benchmark {
    static let readers = [
        Benchmark(
            name: "readers-beside-writer",
            method: """
                factor by which Diamond's writer at full speed increases the processor time of lookups by two readers, to \
                the same factor for two readers in C
                """,
            unit: "x C",
            target: .atMost(1.1),
            measuring: { try await Scratch.with { try await Readers(directory: $0).besideWriter() } }
        ),
        Benchmark(
            name: "readers-beside-1000",
            method: "factor by which 1,000 stores a second increase the processor time of lookups by two readers",
            unit: "% longer",
            target: .atMost(10),
            measuring: { try await Scratch.with { try await Readers(directory: $0).besidePacedWriter() } }
        ),
    ]
}

/// Two threads that look up half of a store's entries while the other half is stored repeatedly.
private struct Readers {
    private static let count = 20_000
    private static let lookUps = 20_000
    private static let rounds = 7

    private let path: String
    private let cache: Cache
    private let read: [CacheEntry]
    private let written: [CacheEntry]

    init(directory: URL) async throws {
        path = Store(directory: directory).cachePath
        cache = try .onDisk(directory)
        let entries = (0..<Self.count).map { Entries.make($0) }
        try await cache.fill(with: entries)
        read = Array(entries.prefix(Self.count / 2))
        written = Array(entries.suffix(Self.count / 2))
    }

    func besideWriter() async throws -> Benchmark.Measurement {
        var (ours, theirs, ratios): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<Self.rounds {
            ours.append(try await factor(lookUp, beside: store))
            theirs.append(try await factor(lookUpInC, beside: store))
            ratios.append((ours.last ?? 0) / (theirs.last ?? 1))
        }
        let note = String(format: "a lookup takes %.2f times as long, C's %.2f times", ours.median, theirs.median)
        return Benchmark.Measurement(value: ratios.median, notes: [note])
    }

    func besidePacedWriter() async throws -> Benchmark.Measurement {
        var (ours, theirs): ([Double], [Double]) = ([], [])
        for _ in 0..<Self.rounds {
            ours.append(try await factor(lookUp, beside: storePaced))
            theirs.append(try await factor(lookUpInC, beside: storePaced))
        }
        let note = String(format: "C's %.1f %%", (theirs.median - 1) * 100)
        return Benchmark.Measurement(value: (ours.median - 1) * 100, notes: [note])
    }

    /// The ratio of two readers' time with a writer to their time without one.
    private func factor(
        _ lookUp: @escaping @Sendable () throws -> Double,
        beside write: @escaping @Sendable (Guarded<Bool>) async -> Void
    ) async throws -> Double {
        let alone = try await processor(lookUp)
        let isDone = Guarded(false)
        async let writing: Void = write(isDone)
        let beside = try await processor(lookUp)
        isDone.withLock { $0 = true }
        await writing
        return beside / alone
    }

    /// The time of both readers.
    private func processor(_ lookUp: @escaping @Sendable () throws -> Double) async throws -> Double {
        async let first = Threads.run(lookUp)
        async let second = Threads.run(lookUp)
        return try await first + second
    }

    // MARK: Reading

    @Sendable private func lookUp() throws -> Double {
        try Threads.processor {
            for _ in 0..<Self.lookUps {
                let entry = read[Int.random(in: 0..<read.count)]
                guard try cache.findOnDisk(entry.key, request: entry.request) != nil else { throw Failure("not found") }
            }
        }
    }

    @Sendable private func lookUpInC() throws -> Double {
        guard let peer = disk_peer_open(path, true) else { throw Failure("C cannot open \(path)") }
        defer { disk_peer_close(peer) }
        return try Threads.processor {
            for _ in 0..<Self.lookUps {
                try read[Int.random(in: 0..<read.count)].withQuestion { found in
                    guard disk_peer_get(peer, &found) else { throw Failure("C found nothing") }
                    disk_peer_free(&found)
                }
            }
        }
    }

    // MARK: Writing

    @Sendable private func store(until isDone: Guarded<Bool>) async {
        var number = 0
        while !isDone.withLock({ $0 }) {
            for _ in 0..<256 {
                cache.store(written[number % written.count])
                number += 1
            }
            await cache.flush()
        }
    }

    @Sendable private func storePaced(until isDone: Guarded<Bool>) async {
        var number = 0
        let start = ContinuousClock.now
        while !isDone.withLock({ $0 }) {
            for _ in 0..<10 {
                cache.store(written[number % written.count])
                number += 1
            }
            try? await Task.sleep(until: start + .milliseconds(number))
        }
        await cache.flush()
    }
}

/// Blocking work, on threads of its own.
enum Threads {
    static func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Swift.Result { try work() }) }.start()
        }
    }

    /// Seconds of the calling thread's processor time.
    static func processor(_ work: () throws -> Void) rethrows -> Double {
        let start = Effort.seconds(CLOCK_THREAD_CPUTIME_ID)
        try work()
        return Effort.seconds(CLOCK_THREAD_CPUTIME_ID) - start
    }
}
