import DiamondSQLite
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `A flight claim` {
    private let lanes = Lanes(width: 1, originWidth: 10, limits: [:])
    private let place = FlightPlace(lane: .default, origin: "http://h")
    private let clock = ExchangeClock(ContinuousClock())

    private func claim(
        _ priority: FlightPriority = .normal,
        run: @escaping @Sendable () -> Bool = { true }
    ) -> FlightClaim {
        FlightClaim(of: Claimant(priority, run: run), 1)
    }

    @Test func `waits as urgently as it has become when it took its place in line`() {
        let (first, admitted) = (claim(), Guarded<[String]>([]))
        #expect(first.enter(place, .normal, lanes) == true)
        for (name, priority) in [("normal", FlightPriority.normal), ("high", .high)] {
            let claim = claim(priority) {
                admitted.withLock { $0.append(name) }
                return true
            }
            #expect(claim.enter(place, .normal, lanes) == false)
        }
        lanes.leave(place)
        #expect(admitted.withLock { $0 } == ["high"])
    }

    @Test func `that is dropped while its place is on the way was waiting, and gives the place back`() {
        let first = claim()
        #expect(first.enter(place, .normal, lanes) == true)
        let hasRun = Guarded(false)
        let third = claim(run: {
            hasRun.withLock { $0 = true }
            return true
        })
        let wasWaiting = Guarded<Bool?>(nil)
        // Both have their places at once; running the second drops the third, which has not heard of its own yet.
        let second = claim(run: { [lanes] in
            wasWaiting.withLock { $0 = third.drop(lanes) }
            return true
        })
        #expect(second.enter(place, .normal, lanes) == false)
        #expect(third.enter(place, .normal, lanes) == false)
        lanes.width = 3
        #expect(wasWaiting.withLock { $0 } == true)
        #expect(!hasRun.withLock { $0 })
        #expect(lanes.running == 2)
    }

    @Test func `waits for one thing at a time`() {
        let claim = claim()
        #expect(claim.enter(place, .normal, lanes) == true)
        let flight = Flight(
            at: place, lanes, by: clock, course: { _, _ throws(ConnectionError) in throw .cancelled },
            whenOver: { _ in })
        #expect(claim.board(flight, for: RequestKey(of: [1]), .normal) == nil)
        #expect(claim.takeOutcome(for: nil) == nil)
        #expect(!claim.drop(lanes))
    }
}

private final class Claimant: FlightClaimant {
    let priority: FlightPriority
    private let run: @Sendable () -> Bool

    init(_ priority: FlightPriority, run: @escaping @Sendable () -> Bool) {
        (self.priority, self.run) = (priority, run)
    }

    func begins(_ run: Int) -> Bool { true }
    func concludes(_ run: Int) -> Bool { true }
    func records(_ run: Int) -> Bool { true }
    func goOn(with run: Int) -> Bool { self.run() }
    func step(aside isAside: Bool, in run: Int) {}
    func hear(_ event: ExchangeEvent, of run: Int) {}
    var box: PartialBox? { nil }
    func makeBox() -> PartialBox { PartialBox() }
}
