import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("A simulation of other sizes") struct SimulationTests {
    private typealias Misses = Simulation.Misses

    /// Returns one access per second, to entries of one byte. The first access to a key stores it, the others hit it.
    private func trace(_ keys: some Sequence<Int64>) -> [CacheAccess] {
        var seen: Set<Int64> = []
        return keys.enumerated().map { second, key in
            access(key, second: Int64(second), seen.insert(key).inserted ? .stored : .hit)
        }
    }

    private func access(
        _ key: Int64,
        size: Int64 = 1,
        second: Int64 = 0,
        _ kind: CacheAccess.Kind,
        uses: Int64 = 1
    ) -> CacheAccess {
        var access = CacheAccess(prefix: key, bodySize: size, entrySize: size, second: second, kind: kind)
        access.uses = uses
        return access
    }

    private func simulation(_ accesses: [CacheAccess], at capacity: Int64) -> Simulation {
        Simulation(accesses, currentCapacity: capacity, capacities: [])
    }

    @Test func `counts the misses of SIEVE and of LRU separately`() {
        // A scan over the keys 5 to 8 evicts key 1 from an LRU cache.
        let scanned = simulation(trace([1, 2, 3, 4, 1, 5, 6, 7, 8, 1]), at: 4)
        #expect(scanned.requests == 10)
        #expect(scanned.lines.map(\.misses) == [Misses(requests: 0.8, bytes: 0.8)])
        #expect(scanned.lines.map(\.lru) == [Misses(requests: 0.9, bytes: 0.9)])
        #expect(scanned.unbounded == Misses(requests: 0.8, bytes: 0.8))
    }

    @Test func `misses a whole loop that exceeds the cache, and only the first round of a shorter loop`() {
        let loop = trace((0..<100).map { $0 % 10 })
        let lines = Simulation(loop, currentCapacity: 10, capacities: [5]).lines
        #expect(lines.map(\.capacity) == [5, 10])
        #expect(lines.map(\.misses.requests) == [1, 0.1])
        #expect(lines.map(\.lru.requests) == [1, 0.1])
    }

    @Test func `a simulation of a scan misses every request at every size`() {
        let scan = Simulation(trace(0..<1000), currentCapacity: 80)
        #expect(scan.lines.map(\.capacity) == [10, 20, 40, 80, 160, 320, 640])
        #expect(scan.lines.allSatisfy { $0.misses == Misses(requests: 1, bytes: 1) })
        #expect(scan.recommendation == Simulation.Recommendation(capacity: 10, isOpen: false, bytesSaved: 0))
    }

    @Test func `counts bytes separately from requests`() {
        let accesses = [access(1, size: 4, .stored), access(2, size: 1, .stored), access(1, size: 4, .hit)]
        let misses = simulation(accesses, at: 16).lines[0].misses
        #expect(misses.requests == 2 / 3.0)
        #expect(misses.bytes == 5 / 9.0)
    }

    @Test func `counts repeats as hits, unless the entry is too large to be stored`() {
        let accesses = [access(1, size: 4, .stored, uses: 5)]
        #expect(simulation(accesses, at: 16).lines[0].misses == Misses(requests: 0.2, bytes: 0.2))
        #expect(simulation(accesses, at: 15).lines[0].misses == Misses(requests: 1, bytes: 1))
    }

    @Test(arguments: [(CacheAccess.Kind.replaced, 4, 1.0), (.stored, 4, 0.5), (.stored, 3, 1), (.hit, 4, 0.5)])
    func `distinguishes lost entries from changed ones`(
        kind: CacheAccess.Kind, size: Int64, missed: Double
    ) {
        let accesses = [access(1, size: 4, .stored), access(1, size: size, second: 1, kind)]
        #expect(simulation(accesses, at: 64).lines[0].misses.requests == missed)
        #expect(simulation(accesses, at: 64).unbounded.requests == missed)
    }

    @Test func `does not count the first use of an entry stored before the record began`() {
        let accesses = [access(1, .hit), access(2, .hit, uses: 2), access(1, second: 1, .hit)]
        let simulation = simulation(accesses, at: 8)
        #expect(simulation.requests == 2)
        #expect(simulation.lines[0].misses == Misses(requests: 0, bytes: 0))
    }

    @Test func `a simulation of an empty record has no result`() {
        let simulation = Simulation([], currentCapacity: 64)
        #expect(simulation.requests == 0 && simulation.bytes == 0 && simulation.seconds == 0)
        #expect(simulation.lines.allSatisfy { $0.misses == Misses(requests: 0, bytes: 0) })
        #expect(simulation.recommendation == nil)
    }

    @Test(
        arguments: [
            (16, nil, 64, false, 576), (64, nil, 64, false, 0), (512, nil, 64, false, 0), (8, [16], 8, true, 0),
            (512, [8], 512, false, 0),
        ] as [(Int64, [Int64]?, Int64, Bool, Int64)])
    func `recommends the smallest size above which doubling does not pay`(
        present: Int64,
        capacities: [Int64]?,
        recommended: Int64,
        isOpen: Bool,
        saved: Int64
    ) {
        let loop = trace((0..<640).map { $0 % 64 })
        let simulation = Simulation(loop, currentCapacity: present, capacities: capacities)
        let expected = Simulation.Recommendation(capacity: recommended, isOpen: isOpen, bytesSaved: saved)
        #expect(simulation.recommendation == expected)
    }

    @Test func `reports the bytes saved per day`() {
        var loop = trace((0..<640).map { $0 % 64 })
        for index in loop.indices { loop[index].second *= 4 * 86_400 / 639 }
        #expect(simulation(loop, at: 64).seconds == 639 * 540)
        let saved = Simulation(loop, currentCapacity: 16).recommendation?.bytesSaved
        #expect(saved == 144)
    }

    @Test func `a simulation of a damaged record does not overflow`() {
        var accesses = (1...3).map { access($0, size: 1 << 37, .stored, uses: 1 << 53) }
        for index in accesses.indices {
            accesses[index].sampling = Sampling(shift: Sampling.largestShift)
            accesses[index].passed = CacheAccess.Passed(uses: 1 << 53, bytes: .max)
        }
        for present in [Int64(0), 1, 1 << 40, .max] {
            let simulation = Simulation(accesses, currentCapacity: present)
            #expect(simulation.bytes == .max)
            #expect(simulation.recommendation.map { $0.bytesSaved >= 0 } == true)
        }
    }

    @Test func `accepts the greatest possible size`() {
        let simulation = Simulation(trace([1, 2, 1]), currentCapacity: .max)
        #expect(simulation.lines.last?.misses.requests == 2 / 3.0)
        #expect(simulation.recommendation != nil)
    }
}
