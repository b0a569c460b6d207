import CPeers
import Diamond
import Foundation

extension Benchmark {
    /// Benchmarks with one store, which is created once.
    static let millions =
        CacheOrder.allCases.map { order in
            Benchmark(
                name: "list-page-\(order.rawValue)",
                method: "time of the first 100 of 1,000,000 entries, by a store that was just opened",
                unit: "ms",
                target: .atMost(10),
                isLong: true,
                measuring: { try await Millions.list(by: order) }
            )
        } + [
            Benchmark(
                name: "open-1m",
                method: "time of opening a store of 1,000,000 entries",
                unit: "ms",
                target: .atMost(20),
                isLong: true,
                measuring: { try await Millions.open() }
            )
        ]
}

private enum Millions {
    private static let count = 1_000_000
    private static let rounds = 21

    static func list(by order: CacheOrder) async throws -> Benchmark.Measurement {
        let directory = try await BigStore.directory(of: count)
        var (first, middle): ([Double], [Double]) = ([], [])
        let cursor = try await Millions.middle(of: Cache.onDisk(directory), by: order)
        for round in 0..<rounds {
            let cache = try Cache.onDisk(directory)
            first.append(try await milliseconds { try check(cache.list(by: order, limit: 100)) })
            guard round < 5 else { continue }
            middle.append(try await milliseconds { try check(cache.list(by: order, after: cursor, limit: 100)) })
        }
        return Benchmark.Measurement(
            value: first.median,
            notes: [String(format: "slowest %.2f ms; the 100 in the middle %.1f ms", first.max() ?? 0, middle.median)]
        )
    }

    private static func middle(of cache: Cache, by order: CacheOrder) async throws -> CacheCursor? {
        guard let last = try cache.list(by: order, limit: count / 2).last else { throw Failure("the store is empty") }
        return CacheCursor(after: last, by: order)
    }

    private static func check(_ page: [CacheListing]) throws {
        guard page.count == 100 else { throw Failure("a page has \(page.count) entries") }
    }

    static func open() async throws -> Benchmark.Measurement {
        let directory = try await BigStore.directory(of: count)
        var times: [Double] = []
        for _ in 0..<rounds { times.append(try await milliseconds { _ = try Cache.onDisk(directory) }) }
        let cache = try Cache.onDisk(directory)
        let totals = try await milliseconds {
            guard try cache.totals().entries >= count else { throw Failure("the store is not whole") }
        }
        return Benchmark.Measurement(
            value: times.median,
            notes: [String(format: "slowest %.2f ms; counting all entries and bytes %.0f ms", times.max() ?? 0, totals)]
        )
    }

    private static func milliseconds(_ work: () throws -> Void) async throws -> Double {
        try await Effort.of(work).wall * 1000
    }
}

/// Stores of many entries with small bodies. Each is created once in a run, and removed at its end.
actor BigStore {
    private static let shared = BigStore()
    private var directories: [Int: URL] = [:]

    static func directory(of count: Int) async throws -> URL { try await shared.directory(of: count) }

    static func removeAll() async { await shared.removeAll() }

    private func directory(of count: Int) throws -> URL {
        if let directory = directories[count] { return directory }
        let directory = try Scratch.make()
        directories[count] = directory
        try Self.create(in: directory, entries: count)
        return directory
    }

    static func create(in directory: URL, entries count: Int) throws {
        _ = try Cache.onDisk(directory)
        try requireSpace(directory, bytes: count * 1500)
        guard fill_peer_fill(Store(directory: directory).cachePath, Int64(count), 64, 256) else {
            throw Failure("C cannot fill a store with \(count) entries")
        }
    }

    private static func requireSpace(_ directory: URL, bytes: Int) throws {
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: directory.path)
        let free = (attributes[.systemFreeSize] as? NSNumber)?.intValue ?? 0
        guard free > bytes * 2 else { throw Failure("\(directory.path) has no room for \(bytes * 2) bytes") }
    }

    private func removeAll() {
        for directory in directories.values { try? FileManager.default.removeItem(at: directory) }
        directories = [:]
    }
}
