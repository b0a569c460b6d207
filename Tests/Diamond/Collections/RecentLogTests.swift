import Testing

@testable import Diamond

@Suite("A log of recent events") struct RecentLogTests {
    private func log(capacity: Int = 4, _ count: Int) -> RecentLog<Int> {
        var log = RecentLog<Int>(capacity: capacity)
        for number in 0..<count { log.append(number) }
        return log
    }

    @Test(arguments: [(0, true), (1, true), (2, false), (3, false), (9, false)])
    func `has the events since an instant`(instant: Int, isKnown: Bool) {
        #expect(log(3).contains(since: instant) { $0 == 1 } == isKnown)
        #expect(log(3).count == 3)
    }

    @Test(arguments: [(5, true), (6, false), (9, false), (10, false)])
    func `answers true for an event that it may have forgotten`(instant: Int, isHappened: Bool) {
        #expect(log(10).contains(since: instant) { $0 < 0 } == isHappened)
    }

    @Test(arguments: [(3, 0, true), (3, 2, false), (10, 5, true), (10, 6, true), (10, 7, false), (10, 10, false)])
    func `finds later events by a property of its elements`(count: Int, instant: Int, isFound: Bool) {
        #expect(log(count).contains(where: { $0 == (count == 3 ? 1 : 6) }, since: { $0 >= instant }) == isFound)
    }

    @Test(arguments: [(3, 0, false), (10, 5, true), (10, 6, true), (10, 7, false)])
    func `answers true for an instant before its oldest element`(
        count: Int, instant: Int, isHappened: Bool
    ) {
        #expect(log(count).contains(where: { $0 < 0 }, since: { $0 >= instant }) == isHappened)
    }

    @Test(arguments: 6...10) func `reuses its slots`(instant: Int) {
        let log = log(10)
        for number in 6..<10 { #expect(log.contains(since: instant) { $0 == number } == (number >= instant)) }
    }
}
