import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `A flight that begins in the thread of its first passenger` {
    private let lanes = Lanes(width: 1, originWidth: 10, limits: [:])
    private let place = FlightPlace(lane: .default, origin: "http://h")
    private let clock = ExchangeClock(ContinuousClock())

    @Test func `may be over before that has a number`() {
        // Before, Apple's systems have no task that begins where it is made.
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let (endings, outcome) = (Guarded(0), Guarded<Flight.Outcome?>(nil))
        let flight = Flight(
            at: place, lanes, by: clock, course: { _, _ throws(ConnectionError) in throw .cancelled },
            whenOver: { _ in endings.withLock { $0 += 1 } })
        #expect(flight.board(.normal, isAtOnce: true, tell: { told in outcome.withLock { $0 = told } }) == 1)
        #expect(outcome.withLock { $0 } != nil && endings.withLock { $0 } == 1)
        #expect(lanes.running == 0)
        #expect(flight.board(.normal, tell: { _ in }) == nil)
    }

    @Test func `ends where that has left before it was under way`() async {
        let (mayGoOn, wasCanceled) = (Gate(), Awaited<Bool>())
        let flight = Flight(
            at: place, lanes, by: clock,
            course: { _, _ throws(ConnectionError) in
                self.leave()
                await mayGoOn.wait()
                wasCanceled.tell(Task.isCancelled)
                throw .cancelled
            }, whenOver: { _ in })
        current.withLock { $0 = flight }
        #expect(flight.board(.normal, isAtOnce: true, tell: { _ in }) == 1)
        mayGoOn.open()
        #expect(await wasCanceled.value { false })
        current.withLock { $0 = nil }
    }

    private let current = Guarded<Flight?>(nil)

    private func leave() { current.withLock { $0 }?.leave(1) }
}
