package import Diamond
import Foundation

/// A simulation of caches of other sizes, over the accesses that this one has recorded.
///
/// A sample of the keys stands for all of them, in a cache that is smaller at the same rate (SHARDS: Waldspurger and
/// others, FAST 2015). What the sample misses is held against all accesses, those that were not recorded among them:
/// a popular key is hit at every size, so that it matters little whether it is in the sample ("SHARDS-adj" there).
///
/// An entry that was there before the record began says nothing of any size: its first access does not count. An answer
/// that the present cache had lost would have been a hit in one that had not, unless it has come back with another
/// length: then it has changed, and is a miss at any size.
package struct Simulation: Sendable {
    /// The parts that would have gone over the network, from 0 to 1.
    package struct Misses: Hashable, Sendable {
        package var requests: Double
        /// The part of the body bytes.
        package var bytes: Double
    }

    /// The misses of one size.
    package struct Line: Hashable, Sendable {
        /// The bound that a cache is given.
        package var capacity: Int64
        /// By SIEVE, as ``Cache`` evicts.
        package var misses: Misses
        /// If it evicted what was not used for longest.
        package var lru: Misses
    }

    /// The size that pays.
    package struct Recommendation: Hashable, Sendable {
        package var capacity: Int64
        /// Whether a size beyond all that were simulated would pay still more.
        package var isOpen: Bool
        /// Bytes of bodies that would not have gone over the network, with the present size; below 0, bytes that would
        /// have. The period is a day, or the whole record where it is shorter than that.
        package var bytesSaved: Int64
    }

    /// Less than this part of all bytes, for twice the size, does not pay.
    package static let leastGain = 0.01

    /// Accesses that count, those that were not recorded among them.
    package let requests: Int64
    /// The bytes of their bodies.
    package let bytes: Int64
    /// The seconds from the first to the last access.
    package let seconds: Int64
    package let sampling: Sampling
    /// The bound of the cache that recorded.
    package let present: Int64
    /// The smallest first, the present size among them.
    package let lines: [Line]
    /// Without any bound: what nothing could have answered.
    package let unbounded: Misses

    /// - Parameters:
    ///   - accesses: in the order in which they happened.
    ///   - present: the bound of the cache that recorded them.
    ///   - capacities: the bounds to simulate; from an eighth of the present one to eight times as much by default.
    ///   - usable: what a bound leaves for entries.
    package init(
        _ accesses: [CacheAccess],
        present: Int64,
        capacities: [Int64]? = nil,
        usable: (Int64) -> Int64 = { $0 }
    ) {
        let trace = Trace(accesses)
        requests = trace.requests
        bytes = trace.bytes
        seconds = trace.seconds
        sampling = trace.sampling
        self.present = present
        lines = Set((capacities ?? Self.capacities(around: present)) + [present]).sorted().map { capacity in
            let usable = usable(capacity)
            return Line(capacity: capacity, misses: trace.misses(sieve: usable), lru: trace.misses(lru: usable))
        }
        unbounded = trace.misses(lru: .max)
    }

    /// From an eighth to eight times as much.
    package static func capacities(around present: Int64) -> [Int64] {
        let larger = ([2, 4, 8] as [Int64]).map { factor in
            let (product, isTooMuch) = present.multipliedReportingOverflow(by: factor)
            return isTooMuch ? .max : product
        }
        return [present / 8, present / 4, present / 2, present] + larger
    }

    /// The smallest size from which on twice the size gains less than ``leastGain`` of the bytes; `nil` where nothing has
    /// been recorded.
    package var recommendation: Recommendation? {
        guard requests > 0, var index = lines.indices.last else { return nil }
        let last = lines[index]
        while index > 0, gain(to: index) < Self.leastGain { index -= 1 }
        return Recommendation(
            capacity: lines[index].capacity,
            isOpen: last.misses.bytes - unbounded.bytes >= Self.leastGain,
            bytesSaved: saved(by: lines[index])
        )
    }

    /// Returns the gain of one doubling on the way from the size before.
    private func gain(to index: Int) -> Double {
        let (smaller, larger) = (lines[index - 1], lines[index])
        let doublings = log2(Double(larger.capacity) / Double(max(1, smaller.capacity)))
        return (smaller.misses.bytes - larger.misses.bytes) / doublings
    }

    private func saved(by line: Line) -> Int64 {
        let now = lines.first { $0.capacity == present }?.misses.bytes ?? 0
        let days = max(1, Double(seconds) / 86_400)
        let saved = ((now - line.misses.bytes) * Double(bytes) / days).rounded()
        return Int64(exactly: saved) ?? .max
    }
}
