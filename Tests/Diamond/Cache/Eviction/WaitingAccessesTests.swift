import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("Accesses that wait to be written") struct WaitingAccessesTests {
    private func access(_ prefix: Int64, second: Int64 = 0, _ kind: CacheAccess.Kind = .hit) -> CacheAccess {
        CacheAccess(prefix: prefix, bodySize: 10, entrySize: 20, second: second, kind: kind)
    }

    @Test func `pending accesses count the repeats of a second in one row`() {
        var log = AccessLog()
        for (prefix, second) in [(1, 0), (2, 0), (1, 0), (1, 1), (1, 1)] as [(Int64, Int64)] {
            log.add(access(prefix, second: second))
        }
        log.add(access(1, second: 1, .replaced))
        let taken = log.removeAll()
        #expect(taken.map(\.prefix) == [1, 2, 1, 1])
        #expect(taken.map(\.uses) == [2, 1, 2, 1])
        #expect(taken.last?.kind == .replaced)
        log.add(access(1, second: 1))
        #expect(log.removeAll().map(\.uses) == [1])
    }

    @Test func `pending accesses are those in the sample, and other accesses are only counted`() {
        var log = AccessLog(sampling: Sampling(shift: 1))
        for prefix in [-1, .max, -5, .min, 0] as [Int64] { log.add(access(prefix)) }
        log.add(access(-1))
        let taken = log.removeAll()
        #expect(taken.map(\.prefix) == [.max, 0])
        #expect(taken.map(\.passed.uses) == [1, 2])
        #expect(taken.map(\.passed.bytes) == [10, 20])
        log.add(access(1))
        #expect(log.removeAll().map(\.passed.uses) == [1])
    }

    @Test func `pending accesses put back after a failure precede later accesses, and still count repeats`() {
        var log = AccessLog()
        log.add(access(1))
        let taken = log.removeAll()
        log.add(access(2))
        log.putBack(taken)
        log.add(access(2))
        let again = log.removeAll()
        #expect(again.map(\.prefix) == [1, 2])
        #expect(again.map(\.uses) == [1, 2])
    }

    @Test func `pending accesses are written when there are many`() {
        var log = AccessLog()
        let prefixes = Array(1...Int64(AccessLog.maximumWaiting) + 1)
        // `add` returns true once.
        #expect(prefixes.filter { log.add(access($0)) } == [Int64(AccessLog.maximumWaiting)])
        _ = log.removeAll()
        #expect(prefixes.filter { log.add(access($0)) } == [Int64(AccessLog.maximumWaiting)])
    }

    @Test(arguments: [(0, 100, 0), (0, 8192, 1), (3, 8192, 4), (3, 5000, 3), (3, 2047, 2), (20, 9000, 20)])
    func `the sample of accesses adapts to the number of keys`(shift: Int64, keys: Int64, next: Int64) {
        #expect(Sampling(shift: shift).next(keys: keys, seconds: 86_400) == Sampling(shift: next))
        let longAgo: Int64 = 28 * 86_400
        #expect(Sampling(shift: shift).next(keys: keys, seconds: longAgo).shift == min(shift, next))
    }
}
