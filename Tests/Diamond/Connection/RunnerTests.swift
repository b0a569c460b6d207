import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
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

    @Test func `that parks late leaves the end to the one who goes on, whoever cancels meanwhile`() async throws {
        let gates = ["http://h/1": Gate(), "http://h/2": Gate()]
        let transport = StubTransport { request throws(TransportError) in
            await gates[request.url]?.wait()
            return .stub()
        }
        var configuration = Engine.Configuration(store: nil)
        (configuration.transport, configuration.width) = (transport, 1)
        let engine = Engine(configuration)
        let first = engine.enqueue(Request("http://h/1", method: .post))
        await untilTrue { transport.requests.count == 1 }
        let connection = engine.enqueue(Request("http://h/2", method: .post))
        await untilTrue { engine.lanes.waiting == 1 && connection.core.withLock { $0.runner == nil } }
        let (run, claim) = connection.core.withLock { ($0.life.run, $0.claim) }
        gates["http://h/1"]?.open()
        _ = try await first.response
        await untilTrue { transport.requests.count == 2 }
        connection.cancel()
        connection.park(run, try #require(claim), Runner(Crew(lanes: engine.lanes)))
        #expect(!connection.isFinished)
        gates["http://h/2"]?.open()
        await untilTrue { connection.isFinished }
    }
}
