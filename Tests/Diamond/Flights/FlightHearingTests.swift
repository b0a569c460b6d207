import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `Who boards a flight that is under way` {
    private let lanes = Lanes(width: 1, originWidth: 10, limits: [:])
    private let place = FlightPlace(lane: .default, origin: "http://h")
    private let clock = ExchangeClock(ContinuousClock())
    private let heard = Guarded<[String]>([])

    private static let began = ExchangeEvent.began(TransferMeter(TransportRequest(url: "http://h/")))
    private static let waiting = ExchangeEvent.waiting(until: .distantFuture)

    /// - Returns: a flight with its first passenger, and what its course reports by.
    private func begun(until gate: Gate) async -> (Flight, report: Flight.Hear) {
        let report = Awaited<Flight.Hear>()
        let flight = Flight(
            at: place, lanes, by: clock,
            course: { _, hear throws(ConnectionError) in
                report.tell(hear)
                await gate.wait()
                throw .cancelled
            }, whenOver: { _ in })
        #expect(flight.board(.normal, tell: { _ in }) == 1)
        return (flight, await report.value { { _ in } })
    }

    private func note(_ event: ExchangeEvent) { heard.withLock { $0.append(event.word) } }

    /// What has happened before, and what of it is news still.
    private static let histories: [(all: [ExchangeEvent], missed: [String])] = [
        ([waiting], ["waiting"]), ([began], ["began"]), ([began, .aside, waiting], ["began", "waiting"]),
        ([began, waiting, .attempt(2)], ["began", "attempt 2"]),
        ([began, waiting, .attempt(2), began], ["attempt 2", "began"]),
        ([began, .attempt(2), began, .aside], ["began", "aside"]),
    ]

    @Test(arguments: histories.indices)
    func `hears what he has missed before what happens meanwhile`(index: Int) async {
        let (all, missed) = Self.histories[index]
        let (gate, isFirst) = (Gate(), Guarded(true))
        defer { gate.open() }
        let (flight, report) = await begun(until: gate)
        for event in all { report(event) }
        let number = flight.board(
            .normal,
            hear: { event in
                let reports = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                if reports { for event in [ExchangeEvent.attempt(3), Self.began] { report(event) } }
                self.note(event)
            }, tell: { _ in })
        #expect(number == 2 && heard.withLock { $0 } == missed + ["attempt 3", "began"])
        report(.aside)
        #expect(heard.withLock { $0.last } == "aside")
    }

    @Test func `hears nothing more when he has left`() async {
        let gate = Gate()
        defer { gate.open() }
        let (flight, report) = await begun(until: gate)
        for event in [Self.began, .attempt(2)] { report(event) }
        let number = flight.board(
            .normal,
            hear: { event in
                self.note(event)
                flight.leave(2)
            }, tell: { _ in })
        #expect(number == 2 && heard.withLock { $0 } == ["began"])
    }
}

extension ExchangeEvent {
    fileprivate var word: String {
        switch self {
        case .began: "began"
        case .attempt(let number): "attempt \(number)"
        case .personal: "personal"
        case .aside: "aside"
        case .waiting: "waiting"
        }
    }
}
