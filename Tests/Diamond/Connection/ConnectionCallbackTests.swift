import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("Callbacks of a connection", .limit(minutes: 10)) struct ConnectionCallbackTests {
    private let engine = Engine.stub(StubTransport())

    @Test(arguments: [false, true]) func `a connection calls its completion block once, before it resumes its waiters`(
        isOnQueue: Bool
    ) async {
        let connection = engine.connection(for: Request("http://h/"))
        let (calls, last) = (Guarded<[String]>([]), Gate())
        connection.afterCallbacks { _ in
            calls.withLock { $0.append("follower") }
            last.open()
        }
        connection.completionBlock = { calls.withLock { $0.append("block") } }
        #expect(connection.completionBlock != nil)
        if isOnQueue { OperationQueue().addOperation(connection) } else { engine.start(connection) }
        await last.wait()
        #expect(calls.withLock { $0 } == ["block", "follower"])
        connection.completionBlock = {}
        #expect(connection.completionBlock == nil)
        connection.afterCallbacks { _ in calls.withLock { $0.append("late") } }
        #expect(calls.withLock { $0 } == ["block", "follower", "late"])
    }

    @Test func `a connection does not call a removed completion block`() async throws {
        let connection = engine.connection(for: Request("http://h/"))
        let (calls, last) = (Guarded(0), Gate())
        connection.completionBlock = { calls.withLock { $0 += 1 } }
        connection.completionBlock = nil
        connection.afterCallbacks { _ in last.open() }
        engine.start(connection)
        await last.wait()
        #expect(calls.withLock { $0 } == 0)
    }

    @Test func `a connection calls its callbacks in order, including one added during the calls`() async {
        let connection = engine.connection(for: Request("http://h/"))
        let (calls, last) = (Guarded<[String]>([]), Gate())
        let serial = CallbackExecutor.queue(DispatchQueue(label: "serial"))
        // By then, the second callback has left the list. It is called after this callback.
        let adding = CallbackExecutor { callback in
            connection.onResult(on: serial) { _ in calls.withLock { $0.append("third") } }
            DispatchQueue.global().async(execute: callback)
        }
        connection.onResult(on: adding) { _ in }
        connection.onResult(on: serial) { _ in calls.withLock { $0.append("second") } }
        connection.afterCallbacks { _ in last.open() }
        engine.start(connection)
        await last.wait()
        #expect(calls.withLock { $0 } == ["second", "third"])
    }

    @MainActor private final class Screen {
        var text = ""
    }

    @Test @MainActor func `a callback on the main actor changes main-actor state, and runs once`() async throws {
        let (screen, calls) = (Screen(), Gate())
        let connection = engine.send(Request("http://h/"), on: .main) { result in
            screen.text += (try? result.get().text) ?? "failed"
        }
        connection.onResult(on: .main) { _ in
            screen.text += "!"
            calls.open()
        }
        await calls.wait()
        #expect(screen.text == "\(try await connection.response.text)!")
    }

    @Test func `a connection started during its cancel finishes after its callback is on the executor`() async {
        let connection = engine.connection(for: Request("http://h/"))
        let (wasFinished, last) = (Guarded<Bool?>(nil), Gate())
        // Starts the connection during the cancel, as the thread of a queue may.
        let starting = CallbackExecutor { callback in
            connection.start()
            let isFinished = connection.isFinished
            wasFinished.withLock { $0 = isFinished }
            DispatchQueue.global().async(execute: callback)
        }
        connection.onResult(on: starting) { _ in last.open() }
        connection.cancel()
        #expect(wasFinished.withLock { $0 } == false && connection.isFinished)
        await last.wait()
    }

    @Test func `a canceled connection calls back at once where it was not started, else when it has finished`() async {
        let (alone, held) = (
            engine.connection(for: Request("http://h/1")), engine.connection(for: Request("http://h/2"))
        )
        let (calls, last) = (Guarded<[String]>([]), Gate())
        held.addDependency(engine.connection(for: Request("http://h/never")))
        held.completionBlock = { calls.withLock { $0.append("block") } }
        alone.afterCallbacks { _ in calls.withLock { $0.append("alone") } }
        held.afterCallbacks { _ in
            calls.withLock { $0.append("held") }
            last.open()
        }
        alone.cancel()
        #expect(calls.withLock { $0 } == ["alone"])
        engine.start(held)
        held.cancel()
        await last.wait()
        #expect(calls.withLock { $0 } == ["alone", "block", "held"])
    }

    @Test(arguments: [false, true]) func `a connection released before its run calls back once with cancelled`(
        isMade: Bool
    ) async {
        let (calls, last) = (Guarded<[String]>([]), Gate())
        weak var dropped: Connection?
        do {
            let connection = isMade ? engine.connection(for: Request("http://h/")) : Connection(Request("http://h/"))
            dropped = connection
            connection.onResult { result in
                if case .failure(let error) = result { calls.withLock { $0.append(error.code.description) } }
            }
            connection.afterCallbacks { outcome in
                if case .failure(let error) = outcome { calls.withLock { $0.append("then \(error.code)") } }
                last.open()
            }
        }
        #expect(dropped == nil)
        await last.wait()
        #expect(calls.withLock { $0 } == ["cancelled", "then cancelled"])
    }

    @Test func `a connection released before its run calls back on its executor, and only once`() async {
        let (handed, calls) = (Guarded<[@Sendable () -> Void]>([]), Guarded(0))
        let executor = CallbackExecutor { callback in handed.withLock { $0.append(callback) } }
        for isCanceled in [false, true] {
            let connection = Connection(Request("http://h/"))
            connection.onResult(on: executor) { _ in calls.withLock { $0 += 1 } }
            if isCanceled { connection.cancel() }
        }
        #expect(calls.withLock { $0 } == 0)
        for callback in handed.withLock({ $0 }) { callback() }
        #expect(calls.withLock { $0 } == 2)
    }

    @Test func `a connection released by a silent owner calls no callback`() async {
        let calls = Guarded(0)
        do {
            let connection = Connection(Request("http://h/"))
            connection.onResult(on: CallbackExecutor { $0() }) { _ in calls.withLock { $0 += 1 } }
            CancellationOwner(isSilent: true).own(connection)
        }
        #expect(calls.withLock { $0 } == 0)
    }

    @Test func `a connection released without a run ends its sequence of states`() async {
        var connection: Connection? = Connection(Request("http://h/"))
        let states = connection?.states
        connection = nil
        #expect(await states?.reduce(into: []) { $0.append($1) } == [.ready, .finished(.cancelled)])
    }

    @Test func `connections released without a run end their batch, and let dependents start`() async {
        var batch: Batch? = Batch([Connection(Request("http://h/1")), Connection(Request("http://h/2"))])
        let progress = batch?.progress
        batch = nil
        let last = await progress?.reduce(into: []) { $0.append($1) }.last
        #expect(last == BatchProgress(completed: 2, failed: 2, count: 2))
    }
}

extension Engine {
    static func stub(_ transport: any Transport, _ credentials: (any CredentialProvider)? = nil) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        configuration.credentials = credentials
        configuration.originWidth = 64
        return Engine(configuration)
    }
}
