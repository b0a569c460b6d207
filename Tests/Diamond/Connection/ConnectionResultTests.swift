import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A callback with a result", .limit(minutes: 10)) struct ConnectionResultTests {
    private let temporary = TemporaryStore()
    private let queue = DispatchQueue(label: "callbacks")
    private let calls = Guarded<[String]>([])

    private func engine(
        _ transport: any Transport = StubTransport(headers: [.cacheControl: "max-age=3600"]),
        on executor: CallbackExecutor? = nil,
        lanes: [Lane: LaneLimits] = [:]
    ) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.callbackExecutor = executor ?? .queue(queue)
        configuration.lanes = lanes
        return Engine(configuration)
    }

    private func note(_ call: String) { calls.withLock { $0.append(call) } }

    /// An executor that holds its jobs until it is told to run them.
    private final class HeldExecutor: Sendable {
        private let callbacks = Guarded<[@Sendable () -> Void]>([])

        var executor: CallbackExecutor {
            CallbackExecutor { [self] callback in callbacks.withLock { $0.append(callback) } }
        }

        var count: Int { callbacks.withLock { $0.count } }

        func callAll() {
            let callbacks = callbacks.withLock { callbacks in
                defer { callbacks = [] }
                return callbacks
            }
            for callback in callbacks { callback() }
        }
    }

    @Test func `a result callback runs once, later, on the engine's executor, also for a cached response`()
        async throws
    {
        let held = HeldExecutor()
        let engine = engine(on: held.executor)
        for source in [Response.Source.network, .cache] {
            let connection = engine.send(Request("http://h/")) { [self] result in
                note((try? result.get().source.rawValue) ?? "failure")
            }
            #expect(try await connection.response.source == source)
            await untilTrue { connection.isFinished }
            // The callback is on its executor before the connection finishes, which does not wait for its call.
            #expect(held.count == 1 && calls.withLock { $0.isEmpty })
            held.callAll()
            #expect(calls.withLock { $0 } == [source.rawValue])
            calls.withLock { $0 = [] }
        }
    }

    @Test(arguments: [false, true])
    func `a result callback runs on its own executor, even if the result is already there`(isLate: Bool)
        async throws
    {
        let key = DispatchSpecificKey<String>()
        queue.setSpecific(key: key, value: "own")
        let engine = engine(on: .global)
        let (connection, called) = (engine.connection(for: Request("http://h/")), Gate())
        if isLate {
            engine.start(connection)
            await untilTrue { connection.isFinished }
        }
        connection.onResult(on: .queue(queue)) { [self] _ in
            note(DispatchQueue.getSpecific(key: key) ?? "another")
            called.open()
        }
        if !isLate { engine.start(connection) }
        await called.wait()
        #expect(calls.withLock { $0 } == ["own"])
    }

    @Test func `a result callback runs on an operation queue or any other executor`() async throws {
        let operations = OperationQueue()
        operations.maxConcurrentOperationCount = 1
        let called = Gate()
        engine(on: .queue(operations)).send(Request("http://h/")) { [self] _ in
            note(OperationQueue.current === operations ? "own" : "another")
            called.open()
        }
        await called.wait()
        #expect(calls.withLock { $0 } == ["own"])
    }

    @Test(arguments: 0..<4) func `a result callback runs once with a cancel, at whatever stage`(stage: Int) async {
        let server = ManualServer()
        let engine = engine(server.transport)
        let (connection, called) = (engine.connection(for: Request("http://h/")), Gate())
        connection.onResult { [self] result in
            if case .failure(let error) = result { note("\(error.code)") }
            called.open()
        }
        if stage == 1 { connection.pause() }
        if stage > 0 { engine.start(connection) }
        if stage > 1 { await untilTrue { server.flying.count == 1 } }
        if stage == 3 { connection.pause() }
        connection.cancel()
        connection.cancel()
        await called.wait()
        engine.start(connection)
        await untilTrue { connection.isFinished }
        queue.sync {}
        #expect(calls.withLock { $0 } == ["cancelled"])
    }

    @Test
    func `a result callback is on its executor before the connection finishes and dependents start`()
        async throws
    {
        let order = Guarded<[String]>([])
        let connections = Guarded<[Connection]>([])
        let executor = CallbackExecutor { callback in
            let first = connections.withLock { $0[0] }
            order.withLock { $0.append("handed \(first.isFinished) \(first.isExecuting)") }
            callback()
        }
        let transport = StubTransport { request throws(TransportError) in
            order.withLock { $0.append(request.url) }
            return .stub()
        }
        let engine = engine(transport, on: executor)
        let (first, second) = (
            engine.connection(for: Request("http://h/1")), engine.connection(for: Request("http://h/2"))
        )
        connections.withLock { $0 = [first] }
        second.addDependency(first)
        first.onResult { _ in }
        engine.start(second)
        engine.start(first)
        _ = try await second.response
        #expect(order.withLock { $0 } == ["http://h/1", "handed false true", "http://h/2"])
    }

    @Test func `a thread can wait for a connection whose result callback runs on the same queue`() async throws {
        let engine = engine()
        let called = Gate()
        let state = await withCheckedContinuation { waiter in
            queue.async {
                let connection = engine.send(Request("http://h/")) { _ in called.open() }
                connection.waitUntilFinished()
                waiter.resume(returning: (connection.isFinished, called.isOpen))
            }
        }
        #expect(state == (true, false))
        await called.wait()
    }

    @Test
    func
        `comes after those that were added before, then the completion block, then the end of a batch`()
        async throws
    {
        let engine = engine()
        let connection = engine.connection(for: Request("http://h/"))
        let held = HeldExecutor()
        for call in ["first", "second"] { connection.onResult { [self] _ in note(call) } }
        connection.onResult(on: held.executor) { [self] _ in note("held") }
        let batch = Batch([connection])
        engine.start(connection)
        await untilTrue { connection.isFinished && held.count == 1 }
        queue.sync {}
        #expect(calls.withLock { $0 } == ["first", "second"] && batch.completed == 0)
        held.callAll()
        await untilTrue { batch.completed == 1 }
    }

    // MARK: Serial lanes

    @Test func `a result callback holds up a serial lane until it has returned`() async throws {
        let (server, held) = (ManualServer(), HeldExecutor())
        let engine = engine(server.transport, on: held.executor, lanes: [.default: .serial])
        let connections = (0..<3).map { engine.connection(for: Request("http://h/\($0)")) }
        connections[0].onResult { [self] _ in note("called") }
        for connection in connections { engine.start(connection) }
        await untilTrue { server.flying == ["http://h/0"] }
        server.landAll()
        await untilTrue { connections[0].isFinished && held.count == 1 }
        #expect(connections[1].state == .ready && server.flying.isEmpty)
        held.callAll()
        for index in 1...2 {
            await untilTrue { server.flying == ["http://h/\(index)"] }
            server.landAll()
        }
        _ = try await connections[2].response
    }

    @Test func `a completion block holds up a serial lane until it has returned`() async throws {
        let server = ManualServer()
        let engine = engine(server.transport, lanes: [.default: .serial])
        let (entered, leave) = (Gate(), DispatchSemaphore(value: 0))
        let connections = (0..<2).map { engine.connection(for: Request("http://h/\($0)")) }
        connections[0].completionBlock = {
            entered.open()
            leave.wait()
        }
        for connection in connections { engine.start(connection) }
        await untilTrue { server.flying == ["http://h/0"] }
        server.landAll()
        await entered.wait()
        #expect(connections[0].isFinished && connections[1].state == .ready && server.flying.isEmpty)
        leave.signal()
        await untilTrue { server.flying == ["http://h/1"] }
        server.landAll()
        _ = try await connections[1].response
    }

    @Test func `a result callback keeps the order of a serial lane, whatever the threads`() async throws {
        let engine = engine(on: .global, lanes: [.default: .serial])
        let urls = (0..<50).map { "http://h/\($0 % 7)" }
        let last = Gate()
        for (index, url) in urls.enumerated() {
            engine.send(Request(url)) { [self] result in
                note((try? result.get().url) ?? "failure")
                if index == 49 { last.open() }
            }
        }
        await last.wait()
        #expect(calls.withLock { $0 } == urls)
    }

    @Test func `a result callback of a canceled connection in a serial lane lets the others go on`() async throws {
        let engine = engine(on: .global, lanes: [.default: .serial])
        engine.lanes.pauseAll()
        let connections = (0..<4).map { index in
            engine.send(Request("http://h/\(index)")) { [self] result in
                note((try? result.get().url) ?? "\(index)")
            }
        }
        connections[2].cancel()
        connections[0].cancel()
        engine.lanes.resumeAll()
        _ = try await connections[3].response
        await untilTrue { [calls] in calls.withLock { $0.count } == 4 }
        #expect(Set(calls.withLock { $0 }) == ["0", "2", "http://h/1", "http://h/3"])
    }
}
