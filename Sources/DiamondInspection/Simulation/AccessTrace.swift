package import Diamond

/// Recorded accesses, prepared for a simulation.
struct AccessTrace: Sendable {
    private struct Step {
        var access: CacheAccess
        /// Whether its entry was stored before the record began.
        var isUnknown: Bool
    }

    private struct Sum {
        var requests: Int64 = 0
        var bytes: Int64 = 0

        // Saturating: damaged rows may hold any numbers.
        mutating func add(_ uses: Int64, of access: CacheAccess) {
            add(CacheAccess.Passed(uses: uses, bytes: uses.multipliedAtMost(by: access.bodySize)))
        }

        mutating func add(_ passed: CacheAccess.Passed) {
            requests = requests.addingSaturating(passed.uses)
            bytes = bytes.addingSaturating(passed.bytes)
        }

        /// Returns the estimated sum of all accesses from the sum of a sample.
        func scaled(by sampling: Sampling) -> Sum {
            let factor = Int64(1) << sampling.shift
            return Sum(requests: requests.multipliedAtMost(by: factor), bytes: bytes.multipliedAtMost(by: factor))
        }
    }

    /// The smallest sample that any access was recorded with.
    let sampling: Sampling
    /// The seconds from the first to the last access.
    let seconds: Int64
    private let steps: [Step]
    /// The sum of the accesses that count, for all keys.
    private let total: Sum

    init(_ accesses: [CacheAccess]) {
        let sampling = accesses.map(\.sampling).max { $0.shift < $1.shift } ?? Sampling()
        var seen: Set<Int64> = []
        steps = accesses.filter { sampling.has($0.prefix) }.map { access in
            Step(access: access, isUnknown: seen.insert(access.prefix).inserted && access.kind == .hit)
        }
        total = Self.total(of: accesses, steps: steps, sampling: sampling)
        seconds = (accesses.last?.second ?? 0) - (accesses.first?.second ?? 0)
        self.sampling = sampling
    }

    private static func total(of accesses: [CacheAccess], steps: [Step], sampling: Sampling) -> Sum {
        var all = Sum()
        var unknown = Sum()
        for access in accesses {
            all.add(access.uses, of: access)
            all.add(access.passed)
        }
        for step in steps where step.isUnknown { unknown.add(1, of: step.access) }
        let left = unknown.scaled(by: sampling)
        return Sum(requests: max(0, all.requests - left.requests), bytes: max(0, all.bytes - left.bytes))
    }

    var requests: Int64 { total.requests }
    var bytes: Int64 { total.bytes }

    func misses(sieve capacity: Int64) -> Simulation.Misses {
        misses(in: Sieve<Int64, Int64>(capacity: scaled(capacity)), largest: capacity / Eviction.largestPart)
    }

    func misses(lru capacity: Int64) -> Simulation.Misses {
        misses(in: LRUCache<Int64, Int64>(capacity: scaled(capacity)), largest: capacity / Eviction.largestPart)
    }

    private func scaled(_ capacity: Int64) -> Int { Int(capacity >> sampling.shift) }

    private func misses(in cache: some SimulatedCache, largest: Int64) -> Simulation.Misses {
        var cache = cache
        var missed = Sum()
        for step in steps {
            let misses = cache.misses(of: step.access, isUnknown: step.isUnknown, largest: largest)
            missed.add(misses, of: step.access)
        }
        let all = missed.scaled(by: sampling)
        return Simulation.Misses(
            requests: Self.part(all.requests, of: total.requests), bytes: Self.part(all.bytes, of: total.bytes))
    }

    private static func part(_ missed: Int64, of all: Int64) -> Double {
        all > 0 ? min(1, Double(missed) / Double(all)) : 0
    }
}

extension Int64 {
    // Neither number may be negative.
    fileprivate func multipliedAtMost(by other: Int64) -> Int64 {
        let (product, overflows) = multipliedReportingOverflow(by: other)
        return overflows ? .max : product
    }
}

/// A cache that stores the sizes of bodies instead of the bodies.
private protocol SimulatedCache {
    mutating func find(_ key: Int64) -> Int64?
    mutating func insert(_ value: Int64, under key: Int64, cost: Int)
}

extension SimulatedCache {
    /// Returns the number of misses among the uses that an access counts.
    fileprivate mutating func misses(of access: CacheAccess, isUnknown: Bool, largest: Int64) -> Int64 {
        let known = find(access.prefix)
        let isHit =
            switch access.kind {
            case .hit: known != nil
            case .stored: known == access.bodySize
            case .replaced: false
            }
        let isStored = known == access.bodySize || store(access, isKnown: known != nil, largest: largest)
        let isMissed = !isHit && !isUnknown
        return (isMissed ? 1 : 0) + (isStored ? 0 : access.uses - 1)
    }

    /// Stores the size of a body.
    ///
    /// - Returns: Whether the body is small enough.
    private mutating func store(_ access: CacheAccess, isKnown: Bool, largest: Int64) -> Bool {
        guard access.bodySize <= largest else { return false }
        insert(access.bodySize, under: access.prefix, cost: Int(access.entrySize))
        // The replaced response was requested, which counts as a use.
        return !isKnown || find(access.prefix) != nil
    }
}

extension Sieve<Int64, Int64>: SimulatedCache {
    fileprivate mutating func find(_ key: Int64) -> Int64? { use(key)?.value }
}

extension LRUCache<Int64, Int64>: SimulatedCache {
    fileprivate mutating func find(_ key: Int64) -> Int64? { use(key) }
}
