import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("An owner token", .limit(minutes: 10)) struct CancellationOwnerTests {
    private let server = ManualServer()
    private let calls = Guarded<[String]>([])

    private func engine() -> Engine { .stub(server.transport) }

    @Test(arguments: [false, true])
    func `a released owner token cancels what it owns, with or without a callback`(isSilent: Bool)
        async throws
    {
        let engine = engine()
        let (canceled, other) = { () -> (Connection, Connection) in
            let token = CancellationOwner(isSilent: isSilent)
            let canceled = token.own(
                engine.send(Request("http://h/1")) { [calls] _ in calls.withLock { $0.append("called") } })
            #expect(token.owns(canceled))
            return (canceled, engine.start(Request("http://h/2")))
        }()
        await untilTrue { canceled.isFinished }
        #expect(canceled.state == .finished(.cancelled))
        if !isSilent { await untilTrue { [calls] in calls.withLock { $0.count } == 1 } }
        await untilTrue { [server] in server.flying == ["http://h/2"] }
        server.landAll()
        #expect(try await other.response.text == "http://h/2")
        #expect(calls.withLock { $0.count } == (isSilent ? 0 : 1))
    }

    @Test func `owns a connection until that is finished, and does not retain it`() async throws {
        let engine = engine()
        let token = CancellationOwner()
        let connection = token.own(engine.connection(for: Request("http://h/")))
        engine.start(connection)
        await untilTrue { [server] in server.flying.count == 1 }
        server.landAll()
        _ = try await connection.response
        await untilTrue { !token.owns(connection) }
        let freed = { () -> WeakConnection in WeakConnection(token.own(engine.connection(for: Request("http://h/"))))
        }()
        #expect(freed.isGone)
        token.cancel()
    }

    @Test func `selects the connections that an engine cancels, and may be reused`() async throws {
        let engine = engine()
        let (token, other) = (CancellationOwner(), engine.start(Request("http://h/other")))
        for round in 1...2 {
            let connections = (0..<3).map { token.own(engine.start(Request("http://h/\($0)"))) }
            if round == 1 { #expect(engine.cancel(where: token.owns) == 3) } else { token.cancel() }
            await untilTrue { connections.allSatisfy { $0.isFinished && $0.isCancelled } }
        }
        await untilTrue { [server] in server.flying == ["http://h/other"] }
        server.landAll()
        _ = try await other.response
    }
}
