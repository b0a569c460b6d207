import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Cases in which Foundation's queue on Linux would run nothing, or crash.
@Suite("A connection on the app's own queue", .limit(minutes: 10)) struct UserQueueTests {
    private let transport = StubTransport { request throws(TransportError) in .stub(body: request.url) }
    private let engine: Engine
    private let queue = OperationQueue()

    init() {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        engine = Engine(configuration)
        queue.maxConcurrentOperationCount = 1
    }

    private func connections(_ count: Int) -> [Connection] {
        (0..<count).map { engine.connection(for: Request("http://h/\($0)")) }
    }

    private var order: [String] { transport.requests.map { String($0.url.dropFirst("http://h/".count)) } }

    // MARK: Dependencies

    @Test func `waits for its dependencies, at any width`() async throws {
        let connections = connections(50)
        for (one, next) in zip(connections, connections.dropFirst()) { next.addDependency(one) }
        for connection in connections.reversed() { queue.addOperation(connection) }
        #expect(try await connections[49].response.status == .ok)
        #expect(order == (0..<50).map { "\($0)" })
    }

    @Test func `waits for a dependency added later, and queued after it`()
        async throws
    {
        let connections = connections(2)
        queue.isSuspended = true
        queue.addOperation(connections[0])
        connections[0].addDependency(connections[1])
        queue.addOperation(connections[1])
        queue.isSuspended = false
        #expect(try await connections[0].response.status == .ok)
        #expect(order == ["1", "0"])
    }

    @Test func `runs when an unfinished dependency is removed`() async throws {
        let connections = connections(2)
        connections[1].addDependency(connections[0])
        queue.addOperation(connections[1])
        connections[1].removeDependency(connections[0])
        #expect(try await connections[1].response.status == .ok)
        #expect(!connections[0].isFinished)
    }

    /// The time of the connection's cancel: before or after the end of its dependency.
    enum Cancel: CaseIterable { case beforeTheEnd, afterTheEnd }

    @Test(arguments: Cancel.allCases)
    func `finishes after a cancel and the removal of an ended dependency`(
        cancel: Cancel
    ) async throws {
        let connections = connections(3)
        connections[1].addDependency(connections[0])
        queue.isSuspended = true
        queue.addOperation(connections[1])
        if cancel == .beforeTheEnd { connections[1].cancel() }
        engine.start(connections[0])
        _ = try await connections[0].response
        await untilTrue { connections[0].isFinished }
        if cancel == .afterTheEnd { connections[1].cancel() }
        connections[1].removeDependency(connections[0])
        connections[1].removeDependency(connections[0])
        queue.addOperation(connections[2])
        queue.isSuspended = false
        // The queue has checked the connection.
        #expect(try await connections[2].response.status == .ok)
        await untilTrue { connections[1].isFinished }
        #expect(order == ["0", "2"] && connections[1].isReady)
    }

    @Test func `is not ready while it waits, and is afterwards`() async throws {
        let connections = connections(2)
        #expect(connections[1].isReady)
        connections[1].addDependency(connections[0])
        queue.addOperation(connections[1])
        #expect(Self.answers(of: connections[1]) == [false])
        engine.start(connections[0])
        #expect(try await connections[1].response.status == .ok)
        #expect(Self.answers(of: connections[1]) == [true])
    }

    @Test func `is ready when the last of its dependencies ends`() async throws {
        let connections = connections(4)
        let last = connections[3]
        for connection in connections.dropLast() { last.addDependency(connection) }
        for connection in connections.dropLast() {
            #expect(Self.answers(of: last) == [false])
            engine.start(connection)
            _ = try await connection.response
            await untilTrue { connection.isFinished }
        }
        // A task that awaits the response may resume before `isReady` changes.
        await untilTrue { last.isReady }
        #expect(Self.answers(of: last) == [true] && !last.isExecuting)
        queue.addOperation(last)
        #expect(try await last.response.status == .ok)
    }

    /// Returns the values of `isReady` that many threads read.
    private static func answers(of connection: Connection) -> Set<Bool> {
        let answers = Guarded<Set<Bool>>([])
        DispatchQueue.concurrentPerform(iterations: 100) { _ in
            let isReady = connection.isReady
            _ = answers.withLock { $0.insert(isReady) }
        }
        return answers.withLock { $0 }
    }

    // MARK: Cancel

    @Test(arguments: [false, true])
    func `a connection canceled on a suspended queue has its error at once, and finishes when it resumes`(waits: Bool)
        async throws
    {
        let connections = connections(3)
        if waits { connections[0].addDependency(connections[2]) }
        queue.isSuspended = true
        for connection in connections.prefix(2) { queue.addOperation(connection) }
        connections[0].cancel()
        let error = await #expect(throws: ConnectionError.self) { try await connections[0].response }
        #expect(error?.code == .cancelled)
        #expect(!connections[0].isFinished && queue.operationCount == 2)
        queue.isSuspended = false
        #expect(try await connections[1].response.status == .ok)
        await untilTrue { connections[0].isFinished }
        #expect(order == ["1"])
    }

    // MARK: Other operations

    @Test func `connections and operations wait for each other on a queue of width 1`() async throws {
        let connections = connections(2)
        let hasFinished = Guarded(false)
        let other = BlockOperation { hasFinished.withLock { $0 = connections[0].isFinished } }
        other.addDependency(connections[0])
        connections[1].addDependency(other)
        // The operation that has to be first is added last.
        for operation in [connections[1], other, connections[0]] { queue.addOperation(operation) }
        #expect(try await connections[1].response.status == .ok)
        #expect(hasFinished.withLock { $0 } && other.isFinished && order == ["0", "1"])
    }

    @Test func `many connections each wait for an operation of their own on the app's queue`() async throws {
        let count = Effort.rounds(2000, soaking: 8000)
        let others = (0..<count).map { _ in BlockOperation {} }
        let connections = connections(count)
        for (connection, other) in zip(connections, others) { connection.addDependency(other) }
        queue.isSuspended = true
        for other in others { queue.addOperation(other) }
        for connection in connections { engine.start(connection) }
        #expect(transport.requests.isEmpty && connections.allSatisfy { !$0.isExecuting })
        queue.isSuspended = false
        for connection in connections { #expect(try await connection.response.status == .ok) }
        #expect(transport.requests.count == count && others.allSatisfy(\.isFinished))
    }
}
