import Diamond
import Foundation

extension Benchmark {
    static let eviction = Benchmark(
        name: "evict-miss-ratio",
        method: """
            the worst of SIEVE's miss ratios on Zipf workloads, by requests and by bytes, to LRU's of the same size, in 1 \
            and 10 % of all bytes; the table also has a scan, a loop and FIFO
            """,
        unit: "x LRU",
        target: .atMost(1),
        measuring: { Evictions.measurement() }
    )
}

/// Replays of workloads with three eviction algorithms.
private enum Evictions {
    private static let requestCount = 500_000

    static func measurement() -> Benchmark.Measurement {
        var table = ["workload\tsize\tSIEVE\tLRU\tFIFO\tbytes: SIEVE\tLRU\tFIFO"]
        var worst = 0.0
        for workload in Workload.all(requestCount) {
            for part in workload.parts {
                let capacity = Int(Double(workload.totalSize) * part)
                let sieve = misses(of: workload, in: Sieve<Int, Void>(capacity: capacity))
                let lru = misses(of: workload, in: QueueCache(capacity: capacity, movesUsed: true))
                let fifo = misses(of: workload, in: QueueCache(capacity: capacity, movesUsed: false))
                if workload.counts { worst = max(worst, sieve.requests / lru.requests, sieve.bytes / lru.bytes) }
                let ratios = [sieve, lru, fifo].map(\.requests) + [sieve, lru, fifo].map(\.bytes)
                let cells = ratios.map { String(format: "%.3f", $0) }
                table.append(([workload.name, "\(Int(part * 100)) %"] + cells).joined(separator: "\t"))
            }
        }
        return Benchmark.Measurement(value: worst, notes: table)
    }

    private static func misses(
        of workload: Workload,
        in cache: some SizedCache
    ) -> (requests: Double, bytes: Double) {
        var cache = cache
        var (count, bytes, missed, missedBytes) = (0, 0, 0, 0)
        for (number, object) in workload.requests.enumerated() {
            let size = Workload.size(of: object)
            let isHit = cache.isHit(object, size: size)
            // The first fifth fills the cache.
            guard number >= workload.requests.count / 5 else { continue }
            (count, bytes) = (count + 1, bytes + size)
            if !isHit { (missed, missedBytes) = (missed + 1, missedBytes + size) }
        }
        return (Double(missed) / Double(count), Double(missedBytes) / Double(bytes))
    }
}

/// A sequence of requested objects.
private struct Workload {
    let name: String
    /// Whether it counts in the figure.
    let counts: Bool
    let requests: [Int]
    /// The sizes of the caches, as parts of the size of all objects.
    var parts = [0.01, 0.1]

    private static let objectCount = 50_000

    static func all(_ count: Int) -> [Workload] {
        [
            Workload(name: "Zipf 0.8", counts: true, requests: zipf(0.8, count)),
            Workload(name: "Zipf 1.0", counts: true, requests: zipf(1, count)),
            Workload(name: "scan over Zipf 1.0", counts: true, requests: scanned(zipf(1, count))),
            Workload(name: "loop", counts: false, requests: (0..<count).map { $0 % objectCount }, parts: [0.1, 0.9]),
        ]
    }

    /// The size of each requested object.
    var totalSize: Int { Set(requests).reduce(0) { $0 + Self.size(of: $1) } }

    /// Returns a size from 256 bytes to 64 KiB, each doubling equally likely.
    static func size(of object: Int) -> Int {
        var random = FastRandom(seed: UInt64(object))
        return Int(exp2(Double.random(in: 8...16, using: &random)))
    }

    /// Returns requests in which object n has the frequency 1/n^skew.
    private static func zipf(_ skew: Double, _ count: Int) -> [Int] {
        var sum = 0.0
        let sums = (1...objectCount).map { rank in
            sum += 1 / pow(Double(rank), skew)
            return sum
        }
        var random = FastRandom(seed: 1)
        return (0..<count).map { _ in place(of: Double.random(in: 0..<sum, using: &random), in: sums) }
    }

    private static func place(of value: Double, in sums: [Double]) -> Int {
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > value { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Returns the requests, with 5,000 for objects that are not requested again after every 20,000.
    private static func scanned(_ requests: [Int]) -> [Int] {
        requests.indices.flatMap { index -> [Int] in
            guard index % 20_000 == 19_999 else { return [requests[index]] }
            return [requests[index]] + (0..<5000).map { objectCount + index + $0 }
        }
    }
}

private protocol SizedCache {
    /// Returns whether the object is cached. If not, inserts it.
    mutating func isHit(_ object: Int, size: Int) -> Bool
}

extension Sieve<Int, Void>: SizedCache {
    fileprivate mutating func isHit(_ object: Int, size: Int) -> Bool {
        if use(object) != nil { return true }
        insert((), under: object, cost: size)
        return false
    }
}

/// Evicts in the order of a queue: LRU if a hit moves its object to the end, otherwise FIFO.
private struct QueueCache: SizedCache {
    let capacity: Int
    let movesUsed: Bool
    private var queue: [(object: Int, turn: Int)] = []
    private var first = 0
    /// The newest position of each object in the queue. Older positions are skipped.
    private var turns: [Int: Int] = [:]
    private var cost = 0

    init(capacity: Int, movesUsed: Bool) {
        self.capacity = capacity
        self.movesUsed = movesUsed
    }

    mutating func isHit(_ object: Int, size: Int) -> Bool {
        let isHit = turns[object] != nil
        if !isHit { makeRoom(for: size) }
        if movesUsed || !isHit { append(object) }
        return isHit
    }

    private mutating func append(_ object: Int) {
        turns[object] = queue.count
        queue.append((object, queue.count))
    }

    private mutating func makeRoom(for size: Int) {
        cost += size
        while cost > capacity {
            let (object, turn) = queue[first]
            first += 1
            guard turns[object] == turn else { continue }
            turns[object] = nil
            cost -= Workload.size(of: object)
        }
    }
}
