import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection

// One at a time: two would occupy both threads of a small machine for seconds.
@Suite("A simulation of a sample", .serialized) struct SampledSimulationTests {
    private static let keys = 100_000
    private static let accesses = 400_000

    /// Returns requests for bodies of 500 to 8,500 bytes, with keys in a Zipf distribution.
    private func zipf(_ exponent: Double) -> [CacheAccess] {
        var generator = SplitMix(state: 14)
        var sum = 0.0
        let sums = (1...Self.keys).map { rank in
            sum += pow(Double(rank), -exponent)
            return sum
        }
        var seen: Set<Int> = []
        return (0..<Self.accesses).map { index in
            let drawn = Double(generator.next() >> 11) / Double(1 << 53) * sum
            let rank = sums.partitioningIndex { $0 >= drawn }
            var digest = SplitMix(state: UInt64(rank))
            let size = Int64(500 + digest.below(8000))
            return CacheAccess(
                prefix: Int64(bitPattern: digest.next()),
                bodySize: size,
                entrySize: size + CacheAccess.rowSize,
                second: Int64(index / 20),
                kind: seen.insert(rank).inserted ? .stored : .hit
            )
        }
    }

    @Test(arguments: [0.8, 1.0]) func `the miss rates of a sample are within two points of those of all keys`(
        exponent: Double
    ) async {
        let all = zipf(exponent)
        await Task.yield()
        var log = AccessLog(sampling: Sampling(shift: 4))
        for access in all { log.add(access) }
        let recorded = log.removeAll()
        #expect(recorded.count < all.count / 8)
        let whole = Simulation(all, currentCapacity: 64 << 20, capacities: [16 << 20])
        await Task.yield()
        let sample = Simulation(recorded, currentCapacity: 64 << 20, capacities: [16 << 20])
        #expect(sample.sampling.rate == 1 / 16.0)
        // Accesses after the last one of the sample are counted with the next.
        #expect(whole.requests - sample.requests < 1000)
        for (one, other) in zip(whole.lines, sample.lines) {
            #expect(abs(one.misses.requests - other.misses.requests) < 0.02, "\(one) \(other)")
            #expect(abs(one.misses.bytes - other.misses.bytes) < 0.02, "\(one) \(other)")
            #expect(abs(one.lru.bytes - other.lru.bytes) < 0.02, "\(one) \(other)")
        }
        #expect(abs(whole.unbounded.bytes - sample.unbounded.bytes) < 0.02)
    }

    @Test func `a simulation uses the lowest sampling rate in a record`() {
        let all = zipf(1).prefix(4000)
        var (log, mixed) = (AccessLog(), [CacheAccess]())
        for access in all.prefix(2000) { log.add(access) }
        mixed += log.removeAll()
        log.sampling = Sampling(shift: 2)
        for access in all.dropFirst(2000) { log.add(access) }
        mixed += log.removeAll()
        var sampled = AccessLog(sampling: Sampling(shift: 2))
        for access in all { sampled.add(access) }
        let (one, other) = (
            Simulation(mixed, currentCapacity: 1 << 20), Simulation(sampled.removeAll(), currentCapacity: 1 << 20)
        )
        #expect(one.lines == other.lines)
        #expect(one.bytes == other.bytes)
    }
}

extension [Double] {
    /// The first index whose element, and those of all after it, fulfil a condition.
    fileprivate func partitioningIndex(_ condition: (Double) -> Bool) -> Int {
        var range = startIndex..<endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = condition(self[middle]) ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return range.lowerBound
    }
}
