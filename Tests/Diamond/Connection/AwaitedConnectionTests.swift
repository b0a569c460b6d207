import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Connections that were not started when a task waits for their results.
@Suite("An awaited connection", .limit(minutes: 10)) struct AwaitedConnectionTests {
    private struct City: Endpoint {
        typealias Output = [Int]
        var id = 1
        var request: Request { Request("http://h/\(id)") }
    }

    private let folder = TemporaryFolder()
    private let transport = StubTransport { _ in .stub(body: "[7]") }

    private func connections(_ count: Int, of engine: Engine) -> [Connection] {
        (0..<count).map { engine.connection(for: Request("http://h/\($0)")) }
    }

    private var order: [String] { transport.requests.map { String($0.url.dropFirst("http://h/".count)) } }

    // MARK: The ways to wait

    /// The ways to wait for a connection that was not started.
    enum Wait: CaseIterable { case response, leaving, output, download, results, items }

    @Test(arguments: Wait.allCases)
    func `a connection that was not started is run when a task waits for it`(wait: Wait) async throws {
        let engine = Engine.stub(transport)
        let connection = engine.connection(for: City())
        switch wait {
        case .response: #expect(try await connection.response.text == "[7]")
        case .leaving: #expect(try await connection.response(whenCanceled: .leave).text == "[7]")
        case .output: #expect(try await connection.output == [7])
        case .download:
            let file = folder.url.appending(path: "file")
            #expect(try await engine.connection(for: Request("http://h/1"), to: file).download.size == 3)
        case .results: #expect(try await Batch([connection]).results.map { try $0.get().text } == ["[7]"])
        case .items:
            for await item in Batch([connection]).items { #expect(try item.result.get().text == "[7]") }
        }
        #expect(order == ["1"])
    }

    @Test func `a batch whose items were started in part runs the others in their order when it is awaited`() async {
        let engine = Engine.stub(transport)
        engine.lanes[.default] = .serial
        let batch = engine.batch((0..<4).map { Request("http://h/\($0)") })
        engine.start(batch.connections[2])
        #expect(await batch.results.count == 4)
        #expect(order == ["2", "0", "1", "3"])
    }

    @Test func `an awaited connection that several tasks wait for runs once`() async throws {
        let connection = Engine.stub(transport).connection(for: City())
        async let first = connection.output
        async let second = connection.response
        #expect(try await (first, second.text) == ([7], "[7]"))
        #expect(order == ["1"])
    }

    @Test func `an awaited connection without an engine fails, with the remedy`() async {
        let error = await #expect(throws: ConnectionError.self) { try await Connection(Request("http://h/")).response }
        #expect(error?.code == .noEngine && error?.message.contains("use Engine.start") == true)
    }

    @Test func `an awaited connection that is paused runs when it is resumed`() async throws {
        let engine = Engine.stub(transport)
        let connection = engine.connection(for: City())
        connection.pause()
        let task = Task { try await connection.output }
        await untilTrue { connection.core.withLock { $0.isMember && $0.waiters.count == 1 } }
        #expect(order.isEmpty)
        connection.resume()
        #expect(try await task.value == [7])
        // Without its engine, a paused connection is canceled.
        withExtendedLifetime(engine) {}
    }

    // MARK: Others that start it

    @Test func `an awaited connection on the app's own queue is left to that queue`() async throws {
        let (engine, queue) = (Engine.stub(transport), OperationQueue())
        queue.isSuspended = true
        let connection = engine.connection(for: City())
        queue.addOperation(connection)
        let task = Task { try await connection.output }
        await untilTrue { connection.core.withLock { $0.waiters.count == 1 } }
        #expect(!connection.isExecuting && !connection.isMember && order.isEmpty)
        queue.isSuspended = false
        #expect(try await task.value == [7])
        await untilTrue { queue.operationCount == 0 }
        #expect(order == ["1"])
    }

    @Test(arguments: [CanceledWait.cancelIfAlone, .cancel, .leave])
    func `a wait in a canceled task starts nothing`(effect: CanceledWait) async {
        let connection = Engine.stub(transport).connection(for: City())
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await connection.response(whenCanceled: effect)
        }
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .cancelled && !connection.isMember && order.isEmpty)
    }

    @Test func `an observer of a connection or a batch starts nothing, and sees its later run`() async throws {
        let engine = Engine.stub(transport)
        let (connection, batch) = (engine.connection(for: City()), engine.batch([Request("http://h/2")]))
        var states = connection.states.makeAsyncIterator()
        var progress = connection.progress.makeAsyncIterator()
        var items = batch.progress.makeAsyncIterator()
        #expect(await states.next() == .ready)
        #expect(await progress.next() == TransferProgress())
        #expect(await items.next() == BatchProgress(completed: 0, failed: 0, count: 1))
        #expect(!connection.isMember && !batch.connections[0].isMember && order.isEmpty)
        engine.start(connection)
        while let state = await states.next() { #expect(state != .ready) }
        #expect(order == ["1"])
    }

    // MARK: Dependencies

    /// The dependency of the connection that is awaited.
    enum Between: CaseIterable { case nothing, connection, operation, batch }

    @Test(arguments: Between.allCases, [false, true])
    func `runs with its dependencies that were not started`(between: Between, isMember: Bool)
        async throws
    {
        let (engine, queue) = (Engine.stub(transport), OperationQueue())
        let connections = connections(3, of: engine)
        switch between {
        case .nothing: connections[2].addDependency(connections[0])
        case .connection:
            connections[1].addDependency(connections[0])
            connections[2].addDependency(connections[1])
        case .operation:
            let other = BlockOperation {}
            other.addDependency(connections[0])
            queue.addOperation(other)
            connections[2].addDependency(other)
        case .batch: connections[2].addDependency(Batch([connections[0]]).operation)
        }
        if isMember { engine.start(connections[2]) }
        #expect(try await connections[2].response.text == "[7]")
        #expect(order == (between == .connection ? ["0", "1", "2"] : ["0", "2"]))
    }

    @Test func `waits for a dependency on the app's own queue, which that queue starts`()
        async throws
    {
        let (engine, queue) = (Engine.stub(transport), OperationQueue())
        let connections = connections(2, of: engine)
        connections[1].addDependency(connections[0])
        queue.isSuspended = true
        queue.addOperation(connections[0])
        let task = Task { try await connections[1].response.text }
        await untilTrue { connections[1].isMember }
        #expect(!connections[0].isMember && order.isEmpty)
        queue.isSuspended = false
        #expect(try await task.value == "[7]")
        #expect(order == ["0", "1"])
    }

    @Test func `a chain of many thousands of connections runs when its last one is awaited`() async throws {
        let count = Effort.rounds(5_000, soaking: 20_000)
        let connections = connections(count, of: Engine.stub(transport))
        for (one, next) in zip(connections, connections.dropFirst()) { next.addDependency(one) }
        #expect(try await #require(connections.last).response.text == "[7]")
        #expect(transport.requests.count == count)
    }
}
