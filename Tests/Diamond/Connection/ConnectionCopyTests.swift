import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A copy of a connection", .limit(minutes: 10)) struct ConnectionCopyTests {
    private let transport = StubTransport()

    private func engine() -> Engine { .stub(transport) }

    private final class CountedConnection: Connection, @unchecked Sendable {
        let count = Guarded(0)

        override func copied() -> CountedConnection {
            let copy = copySettings(to: CountedConnection(request))
            copy.count.withLock { $0 = count.withLock { $0 } + 1 }
            return copy
        }
    }

    @Test func `a copy is ready, with the same request, class, name and priority, and no result`()
        async throws
    {
        let engine = engine()
        let connection = engine.connection(for: Request("http://h/"))
        (connection.name, connection.queuePriority, connection.failedDependencies) = ("cities", .high, .ignore)
        let calls = Guarded(0)
        connection.completionBlock = { calls.withLock { $0 += 1 } }
        connection.addDependency(engine.start(Request("http://h/first")))
        engine.start(connection)
        _ = try await connection.response
        let copy = connection.copied()
        #expect(copy !== connection && copy.request == connection.request && copy.state == .ready)
        #expect(copy.name == "cities" && copy.queuePriority == .high)
        #expect(copy.dependencies.isEmpty && copy.completionBlock == nil)
        if case .ignore = copy.failedDependencies {} else { Issue.record("another policy") }
        engine.start(copy)
        #expect(try await copy.response.status == .ok)
        #expect(transport.requests.count == 3)
        await untilTrue { calls.withLock { $0 } == 1 }
    }

    @Test func `a copy includes the properties of a subclass, also through NSCopying`() async throws {
        let connection = CountedConnection(Request("http://h/"))
        let copies = [
            connection.copied(), connection.copy() as? CountedConnection,
            (connection as any NSCopying).copy(with: nil) as? CountedConnection,
        ]
        #expect(copies.map { $0?.count.withLock { $0 } } == [1, 1, 1])
    }

    @Test func `a copy does not have the changes that dependencies made to the request`() async throws {
        let engine = engine()
        let login = engine.start(Request("http://h/login"))
        let connection = engine.connection(for: Request("http://h/"))
        let hand: @Sendable (inout Request, Response) throws -> Void = { $0.headers[.authorization] = $1.text }
        connection.addDependency(login, updatingRequest: hand)
        engine.start(connection)
        _ = try await connection.response
        _ = try await connection.retry().response
        let copy = connection.copied()
        copy.addDependency(login, updatingRequest: hand)
        engine.start(copy)
        _ = try await copy.response
        #expect(transport.requests.map { $0.headers[.authorization] } == [nil, "body", nil, "body"])
    }

    @Test(arguments: [false, true]) func `a copy is run by the same engine`(isCanceled: Bool) async throws {
        let engine = engine()
        let connection = engine.connection(for: Request("http://h/"))
        if isCanceled { connection.cancel() }
        engine.start(connection)
        await untilTrue { connection.isFinished }
        let again = connection.retry()
        #expect(try await again.response.text == "body")
        #expect(try await again.retry().response.text == "body")
        #expect(transport.requests.count == (isCanceled ? 2 : 3))
    }

    @Test func `a copy runs while its original has not finished`() async throws {
        let server = ManualServer()
        let engine = Engine.stub(server.transport)
        let connection = engine.start(Request("http://h/", method: .post))
        await untilTrue { server.flying.count == 1 }
        let again = connection.retry()
        await untilTrue { server.flying.count == 2 }
        server.landAll()
        _ = try await (connection.response, again.response)
    }

    @Test func `a copy fails where there is no engine, or the engine is released`() async throws {
        let connection = try await { () async throws in
            let connection = engine().start(Request("http://h/"))
            _ = try await connection.response
            return connection
        }()
        await untilTrue { connection.core.withLock { $0.weakRegistry == nil } }
        for connection in [connection, Connection(Request("http://h/"))] {
            let error = await #expect(throws: ConnectionError.self) { try await connection.retry().response }
            #expect(error?.code == .noEngine)
        }
    }
}
