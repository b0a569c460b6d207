package import Diamond
import Foundation

/// A simulation of caches with other capacities, over the recorded accesses of one cache.
///
/// It simulates a sample of the keys in a cache that is smaller by the same factor (SHARDS: Waldspurger and others,
/// FAST 2015). The misses of the sample are multiplied by that factor, and divided by the number of all accesses,
/// including those outside the sample. A popular key is hit at every capacity, so it matters little whether it is in
/// the sample ("SHARDS-adj" in that paper).
///
/// The first access of an entry that was stored before the record began does not count. A response that was evicted and
/// requested again counts as a hit of a cache that still has it, unless its length has changed: then the resource has
/// changed, and it is a miss at every capacity.
package struct Simulation: Sendable {
    /// The miss ratios, from 0 to 1.
    package struct Misses: Hashable, Sendable {
        package var requests: Double
        /// The ratio of the body bytes.
        package var bytes: Double
    }

    /// The miss ratios at one capacity.
    package struct Line: Hashable, Sendable {
        /// The capacity of the cache.
        package var capacity: Int64
        /// The miss ratios with SIEVE, which ``Cache`` uses.
        package var misses: Misses
        /// The miss ratios with LRU.
        package var lru: Misses
    }

    /// The capacity beyond which more space gains little.
    package struct Recommendation: Hashable, Sendable {
        package var capacity: Int64
        /// Whether a capacity beyond the simulated ones would gain more.
        package var isOpen: Bool
        /// The bytes of bodies that the network saves each day, compared with the current capacity; negative if it
        /// would transfer more. For a record shorter than a day, the bytes in the whole record.
        package var bytesSaved: Int64
    }

    /// The least gain, as a part of all bytes, that justifies twice the capacity.
    package static let minimumGain = 0.01

    /// The number of accesses that count, including those outside the sample.
    package let requests: Int64
    /// The bytes of their bodies.
    package let bytes: Int64
    /// The seconds from the first to the last access.
    package let seconds: Int64
    package let sampling: Sampling
    /// The capacity of the cache that recorded.
    package let currentCapacity: Int64
    /// The miss ratios at each capacity, the smallest first, including the current one.
    package let lines: [Line]
    /// The miss ratios of an unbounded cache.
    package let unbounded: Misses

    /// Simulates accesses at several capacities.
    ///
    /// - Parameters:
    ///   - accesses: the accesses in chronological order.
    ///   - currentCapacity: the capacity of the cache that recorded them.
    ///   - capacities: the capacities to simulate; by default from an eighth of the current one to eight times as much.
    ///   - usable: returns the bytes of a capacity that entries can use.
    package init(
        _ accesses: [CacheAccess],
        currentCapacity: Int64,
        capacities: [Int64]? = nil,
        usable: (Int64) -> Int64 = { $0 }
    ) {
        let trace = AccessTrace(accesses)
        requests = trace.requests
        bytes = trace.bytes
        seconds = trace.seconds
        sampling = trace.sampling
        self.currentCapacity = currentCapacity
        lines = Set((capacities ?? Self.capacities(around: currentCapacity)) + [currentCapacity]).sorted().map {
            capacity in
            let usable = usable(capacity)
            return Line(capacity: capacity, misses: trace.misses(sieve: usable), lru: trace.misses(lru: usable))
        }
        unbounded = trace.misses(lru: .max)
    }

    /// Returns capacities from an eighth of one to eight times as much.
    package static func capacities(around capacity: Int64) -> [Int64] {
        let larger = ([2, 4, 8] as [Int64]).map { factor in
            let (product, overflows) = capacity.multipliedReportingOverflow(by: factor)
            return overflows ? .max : product
        }
        return [capacity / 8, capacity / 4, capacity / 2, capacity] + larger
    }

    /// The smallest capacity beyond which doubling gains less than ``minimumGain`` of the bytes; `nil` if nothing was
    /// recorded.
    package var recommendation: Recommendation? {
        guard requests > 0, var index = lines.indices.last else { return nil }
        let last = lines[index]
        while index > 0, gain(to: index) < Self.minimumGain { index -= 1 }
        return Recommendation(
            capacity: lines[index].capacity,
            isOpen: last.misses.bytes - unbounded.bytes >= Self.minimumGain,
            bytesSaved: saved(by: lines[index])
        )
    }

    /// Returns the gain for each doubling between a capacity and the next smaller one.
    private func gain(to index: Int) -> Double {
        let smaller = lines[index - 1]
        let larger = lines[index]
        let doublings = log2(Double(larger.capacity) / Double(max(1, smaller.capacity)))
        return (smaller.misses.bytes - larger.misses.bytes) / doublings
    }

    private func saved(by line: Line) -> Int64 {
        let now = lines.first { $0.capacity == currentCapacity }?.misses.bytes ?? 0
        let days = max(1, Double(seconds) / 86_400)
        let saved = ((now - line.misses.bytes) * Double(bytes) / days).rounded()
        return Int64(exactly: saved) ?? .max
    }
}
