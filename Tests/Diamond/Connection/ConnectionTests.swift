import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A connection", .limit(minutes: 10)) struct ConnectionTests {
    private func engine(_ transport: any Transport = StubTransport()) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        return Engine(configuration)
    }

    /// Returns a transport that answers when the gate opens, or throws when canceled.
    private func gated(_ gate: Gate, entered: Gate = Gate()) -> StubTransport {
        StubTransport { _ async throws(TransportError) in
            entered.open()
            let stream = AsyncStream<Void> { continuation in
                Task {
                    await gate.wait()
                    continuation.finish()
                }
            }
            for await _ in stream {}
            if Task.isCancelled { throw TransportError(.cancelled, "canceled") }
            return .stub()
        }
    }

    @Test func `delivers its response to all waiters, also to later ones`() async throws {
        let connection = engine().start(Request("http://h/"))
        async let first = connection.response
        async let second = connection.response
        #expect(try await first.text == "body")
        #expect(try await second.text == "body")
        #expect(try await connection.response.status == .ok)
    }

    @Test func `reports its states in order from the present state, and ends the sequence`() async throws {
        let gate = Gate()
        let connection = engine(gated(gate)).connection(for: Request("http://h/"))
        var states = connection.states.makeAsyncIterator()
        #expect(await states.next() == .ready)
        connection.start()
        gate.open()
        #expect(await states.next() == .executing(attempt: 1))
        #expect(await states.next() == .finished(.success))
        #expect(await states.next() == nil)
        var late = connection.states.makeAsyncIterator()
        #expect(await late.next() == .finished(.success))
        #expect(await late.next() == nil)
    }

    @Test func `a connection that is freed without a run ends its sequences`() async {
        var connection: Connection? = Connection(Request("http://h/"))
        let (states, progress) = (connection?.states, connection?.progress)
        connection = nil
        #expect(await states?.reduce(into: []) { $0.append($1) } == [.ready, .finished(.cancelled)])
        #expect(await progress?.reduce(into: []) { $0.append($1) } == [TransferProgress()])
    }

    @Test func `a connection without an engine fails, with the remedy`() async {
        let connection = Connection(Request("http://h/"))
        connection.start()
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .noEngine)
        #expect(error?.message.contains("use Engine.start") == true)
    }

    @Test func `a connection canceled before its start ends at once for waiters, and finishes when started`() async {
        let transport = StubTransport()
        let connection = engine(transport).connection(for: Request("http://h/"))
        connection.cancel()
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .cancelled)
        #expect(!connection.isFinished)
        connection.start()
        #expect(connection.isFinished)
        #expect(transport.requests.isEmpty)
    }

    @Test func `a connection canceled twice on the wire finishes once`() async throws {
        let (gate, entered) = (Gate(), Gate())
        let connection = engine(gated(gate, entered: entered)).connection(for: Request("http://h/"))
        let completions = Guarded(0)
        connection.completionBlock = { completions.withLock { $0 += 1 } }
        connection.start()
        await entered.wait()
        connection.cancel()
        connection.cancel()
        gate.open()
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .cancelled)
        connection.cancel()
        await untilTrue { completions.withLock { $0 } == 1 }
        #expect(connection.isFinished && connection.isCancelled && !connection.isExecuting)
    }

    @Test func `is canceled with the task that waits for it`() async throws {
        let (gate, entered) = (Gate(), Gate())
        let connection = engine(gated(gate, entered: entered)).start(Request("http://h/"))
        let task = Task { try await connection.response }
        await entered.wait()
        task.cancel()
        await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(connection.isCancelled)
        gate.open()
    }

    @Test func `waits for its dependency`() async throws {
        let gate = Gate()
        let transport = gated(gate)
        let engine = engine(transport)
        let first = engine.connection(for: Request("http://h/1"))
        let second = engine.connection(for: Request("http://h/2"))
        second.addDependency(first)
        engine.start(second)
        engine.start(first)
        gate.open()
        _ = try await second.response
        #expect(first.isFinished)
        #expect(transport.requests.map(\.url) == ["http://h/1", "http://h/2"])
    }

    @Test func `runs on an operation queue of the app`() async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let engine = engine()
        let connections = (0..<20).map { engine.connection(for: Request("http://h/\($0)")) }
        for connection in connections { queue.addOperation(connection) }
        for connection in connections { #expect(try await connection.response.status == .ok) }
    }

    @Test func `a connection started twice runs once`() async throws {
        let transport = StubTransport()
        let engine = engine(transport)
        let connection = engine.start(Request("http://h/"))
        engine.start(connection)
        _ = try await connection.response
        engine.start(connection)
        #expect(transport.requests.count == 1)
    }

    @Test func `is freed when it has finished, whatever its completion block captures`() async throws {
        let leaked = WeakConnection(nil)
        try await { () async throws in
            let connection = engine().connection(for: Request("http://h/"))
            let called = Gate()
            connection.completionBlock = {
                _ = connection.isFinished
                called.open()
            }
            connection.start()
            _ = try await connection.response
            await called.wait()
            leaked.connection.withLock { $0.value = connection }
        }()
        await untilTrue { leaked.isGone }
    }

    @Test func `finishes exactly once under any order of start and cancel`() async throws {
        let engine = engine()
        for _ in 0..<Effort.rounds(300, soaking: 100_000) {
            let connection = engine.connection(for: Request("http://h/"))
            let completions = Guarded(0)
            connection.completionBlock = { completions.withLock { $0 += 1 } }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { connection.cancel() }
                group.addTask { engine.start(connection) }
                group.addTask { _ = try? await connection.response }
            }
            await untilTrue { connection.isFinished && completions.withLock { $0 } == 1 }
            // The exchange that it gave up may have been on the wire.
            await untilTrue { engine.activity.counts.inFlight == 0 }
        }
    }
}
