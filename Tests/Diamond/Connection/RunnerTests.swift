import DiamondTestSupport
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `A runner of connections` {
    @Test func `is not canceled by a run that it has done with`() async {
        let connection = Connection(Request("http://h/"))
        let (first, second) = (FlightClaim(of: connection, 1), FlightClaim(of: connection, 2))
        let runner = Runner(Crew(lanes: Lanes(width: 1, originWidth: 1, limits: [:])))
        runner.take(first)
        runner.letGo()
        runner.take(second)
        // Paused late: the pause was at the first run.
        runner.cancel(first)
        #expect(!runner.isSpent)
        runner.cancel(second)
        #expect(runner.isSpent)
    }
}
