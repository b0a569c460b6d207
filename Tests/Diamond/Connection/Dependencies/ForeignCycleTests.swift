import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A cycle through other operations", .limit(minutes: 5)) struct ForeignCycleTests {
    private let transport = StubTransport { request throws(TransportError) in .stub(body: request.url) }

    private func engine(_ lanes: [Lane: LaneLimits] = [:]) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.retry = .never
        configuration.transport = transport
        configuration.lanes = lanes
        return Engine(configuration)
    }

    private func connections(_ count: Int, of engine: Engine) -> [Connection] {
        (0..<count).map { engine.connection(for: Request("http://h/\($0)")) }
    }

    // MARK: Detection

    /// Steps with one operation and with connections, which are named by their indices.
    enum Step: Sendable {
        case connection(Int, dependsOn: Int)
        case connectionDependsOnOperation(Int)
        case operationDependsOn(Int)
        case start(Int)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
        /// The number of the connection that fails.
        let victim: Int
        let cycle: String
    }

    static let cases = [
        Case(
            testDescription: "the edge to the operation is the last",
            steps: [.operationDependsOn(0), .connectionDependsOnOperation(0)],
            victim: 0,
            cycle: "GET 0 → sync → GET 0"
        ),
        Case(
            testDescription: "the edge to the operation is the last, over another connection",
            steps: [.operationDependsOn(1), .connection(1, dependsOn: 0), .connectionDependsOnOperation(0)],
            victim: 0,
            cycle: "GET 0 → sync → GET 1 → GET 0"
        ),
        Case(
            testDescription: "the edge between connections is the last",
            steps: [.operationDependsOn(1), .connectionDependsOnOperation(0), .connection(1, dependsOn: 0)],
            victim: 1,
            cycle: "GET 1 → GET 0 → sync → GET 1"
        ),
        Case(
            testDescription: "the operation's own edge is the last before anything is started",
            steps: [.connectionDependsOnOperation(0), .connection(1, dependsOn: 0), .operationDependsOn(1)],
            victim: 0,
            cycle: "GET 0 → sync → GET 1 → GET 0"
        ),
        Case(
            testDescription: "the operation's own edge is the last before the one that waits for it is started",
            steps: [
                .connectionDependsOnOperation(0), .connection(1, dependsOn: 0), .start(1), .operationDependsOn(1),
            ],
            victim: 0,
            cycle: "GET 0 → sync → GET 1 → GET 0"
        ),
        Case(
            testDescription: "the edge between connections comes when one of them waits already",
            steps: [
                .connectionDependsOnOperation(0), .operationDependsOn(1), .start(0), .connection(1, dependsOn: 0),
            ],
            victim: 1,
            cycle: "GET 1 → GET 0 → sync → GET 1"
        ),
        Case(
            testDescription: "what leads to the operation has done so only later",
            steps: [
                .connection(1, dependsOn: 0), .operationDependsOn(2), .connectionDependsOnOperation(0),
                .connection(2, dependsOn: 1),
            ],
            victim: 2,
            cycle: "GET 2 → GET 1 → GET 0 → sync → GET 2"
        ),
        Case(
            testDescription: "what the operation waits for has come to wait only later",
            steps: [
                .operationDependsOn(1), .connectionDependsOnOperation(0), .connection(1, dependsOn: 2),
                .connection(2, dependsOn: 0),
            ],
            victim: 2,
            cycle: "GET 2 → GET 0 → sync → GET 1 → GET 2"
        ),
    ]

    @Test(arguments: cases, [nil, "sync"])
    func `a cycle through an operation is an error that names all its members`(_ one: Case, name: String?)
        async throws
    {
        let (engine, queue, operation) = (engine(), OperationQueue(), BlockOperation {})
        if let name { operation.name = name }
        let connections = connections(3, of: engine)
        for step in one.steps {
            switch step {
            case .connection(let index, let other): connections[index].addDependency(connections[other])
            case .connectionDependsOnOperation(let index): connections[index].addDependency(operation)
            case .operationDependsOn(let index): operation.addDependency(connections[index])
            case .start(let index): engine.start(connections[index])
            }
        }
        for connection in connections { engine.start(connection) }
        queue.addOperation(operation)
        let error = await #expect(throws: ConnectionError.self) { try await connections[one.victim].response }
        #expect(error?.code == .dependencyCycle)
        let cycle = one.cycle.replacing("GET ", with: "GET http://h/").replacing("sync", with: name ?? "BlockOperation")
        #expect(error?.message.contains(": \(cycle): ") == true, "\(error?.message ?? "")")
        await untilTrue { operation.isFinished && connections.allSatisfy(\.isFinished) }
        #expect(connections.allSatisfy { $0 === connections[one.victim] || $0.outcome?.isCycle == false })
    }

    #if !canImport(Darwin)
    // No connection asks there.
    @Test func `a cycle through an operation is an error also for a connection on the app's own queue`() async throws {
        let (engine, queue, operation) = (engine(), OperationQueue(), BlockOperation {})
        let connection = engine.connection(for: Request("http://h/"))
        connection.addDependency(operation)
        operation.addDependency(connection)
        queue.addOperation(connection)
        queue.addOperation(operation)
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .dependencyCycle)
        await untilTrue { operation.isFinished }
    }
    #endif

    @Test func `a connection in a cycle drops its dependencies when it starts`() {
        let engine = engine()
        let (operations, connection) = (
            [StubOperation(), StubOperation()], engine.connection(for: Request("http://h/"))
        )
        for operation in operations { connection.addDependency(operation) }
        operations[1].awaited = [connection]
        connection.addDependency(operations[1])
        #expect(connection.dependencies == operations)
        connection.start()
        #expect(connection.dependencies.isEmpty)
        for operation in operations { operation.end() }
    }

    // MARK: Batches and lanes

    /// The order of the steps that close a cycle over a batch.
    enum Order: CaseIterable { case itself, overAnother, overAnotherAdded }

    @Test(arguments: [
        (Order.itself, 0, "GET http://h/0 → BatchOperation → GET http://h/0"),
        (.overAnother, 0, "GET http://h/0 → GET http://h/2 → BatchOperation → GET http://h/0"),
        (.overAnotherAdded, 2, "GET http://h/2 → BatchOperation → GET http://h/0 → GET http://h/2"),
    ]) func `a cycle may lead through a batch and its own item`(order: Order, victim: Int, cycle: String) async throws {
        let engine = engine()
        let connections = connections(3, of: engine)
        let batch = Batch(Array(connections.prefix(2)))
        switch order {
        case .itself: connections[0].addDependency(batch.operation)
        case .overAnother:
            connections[2].addDependency(batch.operation)
            connections[0].addDependency(connections[2])
        case .overAnotherAdded:
            connections[0].addDependency(connections[2])
            connections[2].addDependency(batch.operation)
        }
        for connection in connections { engine.start(connection) }
        let error = await #expect(throws: ConnectionError.self) { try await connections[victim].response }
        #expect(error?.code == .dependencyCycle)
        #expect(error?.message.contains(": \(cycle): ") == true, "\(error?.message ?? "")")
        #expect(try await batch.results[1].get().status == .ok)
    }

    @Test func `a batch's item and a dependent of the batch in one serial lane form no cycle`() async throws {
        let engine = engine(["api": .serial])
        let connections = (0..<5).map { engine.connection(for: Request("http://h/\($0)", "api")) }
        let batch = Batch(Array(connections.suffix(3)))
        connections[0].addDependency(batch.operation)
        for connection in connections { engine.start(connection) }
        for connection in connections { #expect(try await connection.response.status == .ok) }
        #expect(transport.requests.map(\.url).suffix(2) == ["http://h/0", "http://h/1"])
    }

    // MARK: No cycle

    /// The state of an operation that has dependencies, and waits for none of them.
    enum OperationState: CaseIterable { case executing, canceled, finished, endsWhenAsked }

    @Test(arguments: OperationState.allCases)
    func `an operation that no longer waits forms no cycle`(standing: OperationState) async throws {
        let engine = engine()
        let (operation, connection) = (StubOperation(), engine.connection(for: Request("http://h/")))
        operation.awaited = [connection]
        switch standing {
        case .executing: operation.begin()
        case .canceled: operation.cancel()
        case .finished: operation.end()
        case .endsWhenAsked: operation.whenAsked { $0.end() }
        }
        connection.addDependency(operation)
        engine.start(connection)
        operation.end()
        #expect(try await connection.response.status == .ok)
    }

    @Test func `a chain with a canceled connection forms no cycle`() async throws {
        let engine = engine()
        let (operation, connections) = (StubOperation(), connections(2, of: engine))
        operation.awaited = [connections[1]]
        connections[1].addDependency(connections[0])
        connections[1].cancel()
        connections[0].addDependency(operation)
        engine.start(connections[0])
        operation.end()
        #expect(try await connections[0].response.status == .ok)
    }

    // MARK: Search

    @Test func `the search for a cycle holds no lock: an operation that it asks may use connections`() {
        let (operation, connections) = (StubOperation(), connections(3, of: engine()))
        operation.awaited = [connections[0]]
        operation.whenAsked { _ in
            connections[1].addDependency(connections[2])
            connections[0].queuePriority = .high
            connections[0].onResult { _ in }
        }
        connections[0].addDependency(operation)
        #expect(operation.timesAsked == 1 && connections[1].dependencies == [connections[2]])
        operation.end()
    }

    @Test func `the search for a cycle follows chains of many thousands, and asks each operation once`() throws {
        let count = Effort.rounds(20_000, soaking: 100_000)
        let connections = connections(count, of: engine())
        for (one, next) in zip(connections, connections.dropFirst()) { next.addDependency(one) }
        // Rows of two operations that each wait for both operations of the next row: too many paths to follow each.
        let operations = (0..<count).map { _ in StubOperation() }
        for index in stride(from: 0, to: count - 2, by: 2) {
            for operation in operations[index...(index + 1)] {
                operation.awaited = Array(operations[(index + 2)...(index + 3)])
            }
        }
        operations[count - 1].awaited = [try #require(connections.last)]
        connections[0].addDependency(operations[0])
        #expect(connections[0].fault?.code == .dependencyCycle && connections[0].dependencies.isEmpty)
        #expect(operations.allSatisfy { $0.timesAsked <= 1 })
        for operation in operations { operation.awaited = [] }
    }

    @Test func `the search for a cycle runs only if a cycle is possible`() {
        let engine = engine()
        let (operation, connections) = (StubOperation(), connections(1000, of: engine))
        connections[0].addDependency(operation)
        for (one, next) in zip(connections, connections.dropFirst()) { next.addDependency(one) }
        for connection in connections.reversed() { engine.start(connection) }
        #expect(operation.timesAsked == 2)
        for connection in connections { connection.cancel() }
        operation.end()
    }

    /// Compares with an exhaustive search, which is repeated for every edge.
    @Test func `a cycle is found exactly if an exhaustive search finds a cycle`() {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(100, soaking: 5000) {
            let connections = (0..<8).map { Connection(Request("http://h/\($0)")) }
            let operations = (0..<4).map { _ in StubOperation() }
            let all: [Operation] = connections + operations
            var edges: [Set<Int>] = Array(repeating: [], count: all.count)
            func awaits(_ one: Int, _ other: Int) -> Bool {
                var (known, open): (Set<Int>, [Int]) = ([], [one])
                while let next = open.popLast() {
                    guard next != other else { return true }
                    if known.insert(next).inserted { open += edges[next] }
                }
                return false
            }
            for index in 8..<12 {
                for _ in 0..<2 { edges[index].insert(Int.random(in: 0..<12, using: &random)) }
                operations[index - 8].awaited = edges[index].map { all[$0] }
            }
            for _ in 0..<40 {
                let one = Int.random(in: 0..<8, using: &random), two = Int.random(in: 0..<12, using: &random)
                guard Int.random(in: 0..<6, using: &random) > 0 else {
                    connections[one].removeDependency(all[two])
                    edges[one].remove(two)
                    continue
                }
                let isCycle = awaits(two, one)
                connections[one].addDependency(all[two])
                let fault = connections[one].takeFault()
                #expect((fault?.code == .dependencyCycle) == isCycle, "DIAMOND_SEED=\(Effort.seed)")
                if !isCycle { edges[one].insert(two) }
            }
            for operation in operations {
                operation.awaited = []
                operation.end()
            }
        }
    }
}

extension Connection {
    fileprivate var fault: ConnectionError? { core.withLock { $0.fault } }

    fileprivate func takeFault() -> ConnectionError? {
        core.withLock { core in
            defer { core.fault = nil }
            return core.fault
        }
    }
}

extension ConnectionLife.Outcome {
    fileprivate var isCycle: Bool {
        if case .failure(let error) = self { error.code == .dependencyCycle } else { false }
    }
}

/// An operation with a given state and given dependencies.
///
/// `@unchecked Sendable`: its state is behind a lock; `Operation` guards its own.
private final class StubOperation: Operation, @unchecked Sendable {
    private struct State {
        var awaited: [Operation] = []
        var timesAsked = 0
        var whenAsked: (@Sendable (StubOperation) -> Void)?
        var hasBegun = false
        var hasEnded = false
    }

    private let state = Guarded(State())

    var awaited: [Operation] {
        get { state.withLock { $0.awaited } }
        set { state.withLock { $0.awaited = newValue } }
    }

    var timesAsked: Int { state.withLock { $0.timesAsked } }

    override var dependencies: [Operation] {
        let (awaited, whenAsked) = state.withLock { state in
            state.timesAsked += 1
            return (state.awaited, state.whenAsked)
        }
        whenAsked?(self)
        return awaited
    }

    func whenAsked(_ call: @escaping @Sendable (StubOperation) -> Void) { state.withLock { $0.whenAsked = call } }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { state.withLock { $0.hasBegun && !$0.hasEnded } }
    override var isFinished: Bool { state.withLock { $0.hasEnded } }

    func begin() { state.withLock { $0.hasBegun = true } }

    func end() {
        willChangeValue(forKey: "isFinished")
        state.withLock { ($0.hasEnded, $0.whenAsked) = (true, nil) }
        didChangeValue(forKey: "isFinished")
    }
}
