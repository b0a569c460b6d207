import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Dispatch
import Testing

@testable import Diamond

@Suite("A reader of holds", .limit(minutes: 5)) struct HoldReaderTests {
    /// The results of successive reads, the last one repeated, and the notified holds.
    private final class StubHoldSource: Sendable {
        private let readings: Guarded<[Set<ReplayHold>?]>
        let told = Guarded<[Set<ReplayHold>]>([])
        let looks = Guarded(0)
        let clock = TestClock()

        init(_ readings: [Set<ReplayHold>?]) { self.readings = Guarded(readings) }

        func reader(mayWait: Bool = false, beforeRead wait: @escaping @Sendable () -> Void = {}) -> HoldReader {
            HoldReader(clock: clock, mayWait: mayWait) { [readings, looks] in
                wait()
                looks.withLock { $0 += 1 }
                return readings.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? nil }
            } notify: { [told] holds in
                told.withLock { $0.append(holds) }
            }
        }

        func second() async {
            await untilTrue { !clock.sleeping.isEmpty }
            clock.advance(by: .seconds(1))
        }

        /// Waits for events that must not happen.
        func rest() async {
            for _ in 0..<1000 { await Task.yield() }
        }

        func told(_ count: Int) async -> [Set<ReplayHold>] {
            await untilTrue { told.withLock { $0.count } >= count }
            return told.withLock { $0 }
        }
    }

    @Test(arguments: [false, true]) func `tries again every second after a failed read, until one succeeds`(
        mayWait: Bool
    ) async {
        let fixture = StubHoldSource([nil, nil, [.engine]])
        let reader = fixture.reader(mayWait: mayWait)
        reader.refresh()
        await fixture.second()
        await untilTrue { fixture.looks.withLock { $0 } == 2 }
        #expect(fixture.told.withLock { $0 } == [])
        await fixture.second()
        #expect(await fixture.told(1) == [[.engine]])
        await fixture.rest()
        #expect(fixture.clock.sleeping.isEmpty && fixture.looks.withLock { $0 } == 3)
        reader.close()
    }

    @Test func `reads every second where it polls`() async {
        let fixture = StubHoldSource([[], [.engine], [.engine], []])
        let reader = fixture.reader()
        reader.poll()
        reader.refresh()
        for _ in 0..<3 { await fixture.second() }
        #expect(await fixture.told(2) == [[.engine], []])
        reader.close()
    }

    @Test func `no caller waits for a server, and reads in quick succession are one`() async {
        let fixture = StubHoldSource([[], [.engine]])
        let (answer, reads) = (DispatchSemaphore(value: 0), Guarded(0))
        let reader = fixture.reader(mayWait: true) {
            reads.withLock { $0 += 1 }
            answer.wait()
        }
        reader.refresh()
        await untilTrue { reads.withLock { $0 } == 1 }
        for _ in 0..<10 { reader.refresh() }
        #expect(fixture.looks.withLock { $0 } == 0)
        for _ in 0..<2 { answer.signal() }
        #expect(await fixture.told(1) == [[.engine]])
        await fixture.rest()
        #expect(fixture.looks.withLock { $0 } == 2)
        reader.close()
    }

    @Test func `a closed reader of holds reads no more, and is freed`() async {
        let fixture = StubHoldSource([nil])
        var reader: HoldReader? = fixture.reader()
        reader?.refresh()
        await untilTrue { !fixture.clock.sleeping.isEmpty }
        reader?.close()
        await untilTrue { fixture.clock.sleeping.isEmpty }
        fixture.clock.advance(by: .seconds(10))
        await fixture.rest()
        #expect(fixture.looks.withLock { $0 } == 1)
        weak let left = reader
        reader = nil
        #expect(left == nil)
    }
}
