import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Dependencies in ways that Foundation's queue on Linux handles wrongly, or not at all.
@Suite("A dependency", .limit(minutes: 10)) struct DependencyTests {
    private let transport = StubTransport { request throws(TransportError) in
        if request.url.hasSuffix("/fail") { throw TransportError(.cannotConnect, "nobody there") }
        return .stub(body: request.url)
    }

    private func engine() -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.retry = .never
        configuration.transport = transport
        return Engine(configuration)
    }

    private func connections(_ count: Int, of engine: Engine, in lane: Lane = .default) -> [Connection] {
        (0..<count).map { number in
            var request = Request("http://h/\(number)")
            request.lane = lane
            return engine.connection(for: request)
        }
    }

    // MARK: Order

    @Test func `holds whichever connection is started first, across engines`() async throws {
        let (first, second) = (engine(), engine())
        let connections = connections(3, of: first)
        connections[2].addDependency(connections[1])
        connections[1].addDependency(connections[0])
        second.start(connections[2])
        first.start(connections[1])
        second.start(connections[0])
        _ = try await connections[2].response
        #expect(transport.requests.map(\.url) == ["http://h/0", "http://h/1", "http://h/2"])
    }

    @Test(arguments: [false, true])
    func `a chain of many thousands of dependencies can be built, run and freed`(isReversed: Bool)
        async throws
    {
        let engine = engine()
        let last = try await { () async throws -> WeakConnection in
            let connections = connections(Effort.rounds(10_000, soaking: 100_000), of: engine)
            let pairs = zip(connections, connections.dropFirst()).map { ($0, $1) }
            for (one, next) in isReversed ? pairs.reversed() : pairs { next.addDependency(one) }
            for connection in connections.reversed() { engine.start(connection) }
            let last = try #require(connections.last)
            _ = try await last.response
            #expect(transport.requests.count == connections.count)
            return WeakConnection(last)
        }()
        await untilTrue { last.isGone }
    }

    @Test func `a failed dependency cancels the rest of its chain`() async throws {
        let engine = engine()
        let connections = connections(20_000, of: engine)
        let bad = engine.connection(for: Request("http://h/fail"))
        connections[0].addDependency(bad)
        for (one, next) in zip(connections, connections.dropFirst()) { next.addDependency(one) }
        for connection in connections { engine.start(connection) }
        engine.start(bad)
        let error = await #expect(throws: ConnectionError.self) { try await connections[19_999].response }
        #expect(error?.code == .dependencyFailed)
        #expect((error?.cause as? ConnectionError)?.code == .cannotConnect)
        #expect(connections[19_999].isCancelled)
        #expect(transport.requests.count == 1)
    }

    @Test func `a chain of dependencies that never runs is freed silently`() {
        let engine = engine()
        let last = WeakConnection(nil)
        do {
            let connections = connections(100_000, of: engine)
            for (one, next) in zip(connections, connections.dropFirst()) { next.addDependency(one) }
            last.connection.withLock { $0.value = connections.last }
        }
        #expect(last.isGone)
    }

    @Test func `a dependency that is freed before it ends lets its dependent start`() async throws {
        let engine = engine()
        let first = engine.connection(for: Request("http://h/"))
        for _ in 0..<1000 { engine.connection(for: Request("http://h/")).addDependency(first) }
        engine.start(first)
        #expect(try await first.response.status == .ok)
    }

    @Test func `a dependency removed before it has ended lets its dependent start`() async throws {
        let engine = engine()
        let (first, second) = (
            engine.connection(for: Request("http://h/1")), engine.connection(for: Request("http://h/2"))
        )
        second.addDependency(first)
        #expect(second.dependencies == [first])
        engine.start(second)
        second.removeDependency(first)
        #expect(second.dependencies.isEmpty)
        #expect(try await second.response.text == "http://h/2")
        #expect(!first.isFinished)
    }

    @Test func `a dependency that has ended already holds nothing up`() async throws {
        let engine = engine()
        let first = engine.start(Request("http://h/1"))
        _ = try await first.response
        await untilTrue { first.isFinished }
        let second = engine.connection(for: Request("http://h/2"))
        second.addDependency(first)
        second.removeDependency(first)
        second.addDependency(first)
        engine.start(second)
        #expect(try await second.response.text == "http://h/2")
    }

    @Test func `a dependency that closes a cycle is an error that names the cycle`() async throws {
        let engine = engine()
        let connections = connections(3, of: engine)
        connections[1].addDependency(connections[0])
        connections[2].addDependency(connections[1])
        connections[0].addDependency(connections[2])
        for connection in connections { engine.start(connection) }
        let error = await #expect(throws: ConnectionError.self) { try await connections[0].response }
        #expect(error?.code == .dependencyCycle)
        let cycle = "GET http://h/0 → GET http://h/2 → GET http://h/1 → GET http://h/0"
        #expect(error?.message.contains(cycle) == true, "\(error?.message ?? "")")
        let later = await #expect(throws: ConnectionError.self) { try await connections[2].response }
        #expect(later?.code == .dependencyFailed)
    }

    @Test func `a dependency of a connection on itself is an error, too`() async throws {
        let engine = engine()
        let connection = engine.connection(for: Request("http://h/"))
        connection.addDependency(connection)
        engine.start(connection)
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .dependencyCycle)
    }

    // MARK: Cancel

    @Test func `a dependency canceled before it was started is not waited for`() async throws {
        let engine = engine()
        let connections = connections(2, of: engine)
        connections[1].addDependency(connections[0])
        connections[1].failedDependencies = .ignore
        engine.start(connections[1])
        connections[0].cancel()
        #expect(try await connections[1].response.status == .ok)
    }

    @Test func `does not hold up a waiting connection that is canceled twice`() async throws {
        let engine = engine()
        let connections = connections(3, of: engine)
        connections[1].addDependency(connections[0])
        connections[2].addDependency(connections[1])
        engine.start(connections[1])
        engine.start(connections[2])
        connections[1].cancel()
        connections[1].cancel()
        await untilTrue { connections[2].isFinished }
        #expect(connections[1].isFinished && !connections[0].isFinished)
        engine.start(connections[0])
        #expect(try await connections[0].response.status == .ok)
    }

    // MARK: Other operations

    @Test func `may be any operation, on any queue`() async throws {
        let engine = engine()
        let (other, connection) = (BlockOperation {}, engine.connection(for: Request("http://h/")))
        connection.addDependency(other)
        engine.start(connection)
        #expect(!connection.isExecuting)
        OperationQueue().addOperation(other)
        #expect(try await connection.response.status == .ok)
        #expect(other.isFinished)
    }

    @Test func `a connection may be the dependency of any operation`() async throws {
        let engine = engine()
        let (gate, connection) = (Gate(), engine.connection(for: Request("http://h/")))
        let other = BlockOperation { gate.open() }
        other.addDependency(connection)
        let queue = OperationQueue()
        queue.addOperation(other)
        engine.start(connection)
        await gate.wait()
        #expect(connection.isFinished)
    }

    // MARK: Results

    @Test func `passes its response to the request`() async throws {
        let engine = engine()
        let (login, cities) = (
            engine.connection(for: Request("http://h/login")), engine.connection(for: Request("http://h/cities"))
        )
        cities.addDependency(login) { request, response in request.parameters["token"] = .string(response.text) }
        engine.start(cities)
        engine.start(login)
        #expect(try await cities.response.text == "http://h/cities?token=http%3A%2F%2Fh%2Flogin")
        #expect(cities.request == Request("http://h/cities"))
    }

    @Test func `passes its response once, even if the connection then waits for a permit`() async throws {
        let engine = engine()
        let (calls, login) = (Guarded(0), engine.start(Request("http://h/login")))
        _ = try await login.response
        engine.lanes.pauseAll()
        let cities = engine.connection(for: Request("http://h/cities"))
        cities.addDependency(login) { request, _ in
            let count = calls.withLock { count in
                count += 1
                return count
            }
            request.parameters["call"] = .number(Double(count))
        }
        engine.start(cities)
        await untilTrue { engine.lanes.waiting == 1 }
        engine.lanes.resumeAll()
        #expect(try await cities.response.text == "http://h/cities?call=1")
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func `a dependency whose closure throws fails the connection with that error as its cause`() async throws {
        struct NoToken: Error {}
        let engine = engine()
        let connections = connections(2, of: engine)
        connections[1].addDependency(connections[0]) { _, _ in throw NoToken() }
        for connection in connections { engine.start(connection) }
        let error = await #expect(throws: ConnectionError.self) { try await connections[1].response }
        #expect(error?.code == .dependencyFailed)
        #expect(error?.cause is NoToken)
        #expect(transport.requests.count == 1)
    }

    enum Policy: String, CaseIterable { case cancel, ignore, askedYes, askedNo }

    @Test(arguments: Policy.allCases) func `a failed dependency is handled by the policy`(policy: Policy) async throws {
        let engine = engine()
        let bad = engine.connection(for: Request("http://h/fail"))
        let connection = engine.connection(for: Request("http://h/"))
        connection.addDependency(bad)
        switch policy {
        case .cancel: break
        case .ignore: connection.failedDependencies = .ignore
        case .askedYes: connection.failedDependencies = .custom { $0 === bad && $1.code == .cannotConnect }
        case .askedNo: connection.failedDependencies = .custom { _, _ in false }
        }
        engine.start(connection)
        engine.start(bad)
        guard policy == .cancel || policy == .askedNo else {
            return #expect(try await connection.response.status == .ok)
        }
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .dependencyFailed)
        #expect((error?.cause as? ConnectionError)?.code == .cannotConnect)
    }

    // MARK: Random graphs

    /// Compares with an exhaustive search, which is repeated for every edge.
    @Test func `is reported as a cycle exactly if an exhaustive search finds a cycle`() {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(200, soaking: 20_000) {
            let connections = (0..<12).map { Connection(Request("http://h/\($0)")) }
            var line = SerialLine()
            var met: [AnyObject] = []
            var inLine: [Int] = []
            var edges: [Set<Int>] = Array(repeating: [], count: connections.count)
            func awaits(_ one: Int, _ other: Int) -> Bool {
                var (known, open): (Set<Int>, [Int]) = ([], [one])
                while let next = open.popLast() {
                    guard next != other else { return true }
                    guard known.insert(next).inserted else { continue }
                    open += edges[next]
                    if let place = inLine.firstIndex(of: next), place > 0 { open.append(inLine[place - 1]) }
                }
                return false
            }
            for _ in 0..<60 {
                let one = Int.random(in: 0..<12, using: &random), two = Int.random(in: 0..<12, using: &random)
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    connections[one].removeDependency(connections[two])
                    edges[one].remove(two)
                case 1 where inLine.contains(one):
                    _ = line.remove(ObjectIdentifier(connections[one]), releaseLater: &met)
                    inLine.removeAll { $0 == one }
                case 1, 2:
                    guard !inLine.contains(one) else { continue }
                    let isFree = inLine.last.map { !awaits($0, one) } ?? true
                    let hasEntered = line.append(connections[one], releaseLater: &met)
                    #expect(hasEntered == isFree, "DIAMOND_SEED=\(Effort.seed)")
                    if isFree { inLine.append(one) }
                default:
                    let isCycle = awaits(two, one)
                    connections[one].addDependency(connections[two])
                    let fault = connections[one].core.withLock { core in
                        defer { core.fault = nil }
                        return core.fault
                    }
                    #expect((fault?.code == .dependencyCycle) == isCycle, "DIAMOND_SEED=\(Effort.seed)")
                    if !isCycle { edges[one].insert(two) }
                }
            }
        }
    }

    /// The connections have no engine, so that each ends as it starts.
    @Test func `lets its dependents start while an executor blocks another connection's start`() {
        let connections = (0..<4).map { Connection(Request("http://h/\($0)")) }
        for (one, next) in [(0, 1), (2, 3)] {
            connections[next].addDependency(connections[one])
            connections[next].start()
        }
        let (isHeldUp, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let executor = CallbackExecutor { callback in
            isHeldUp.signal()
            _ = mayGoOn.wait(timeout: .now() + 120)
            DispatchQueue.global().async(execute: callback)
        }
        connections[1].onResult(on: executor) { _ in }
        DispatchQueue.global().async { connections[0].cancel() }
        #expect(isHeldUp.wait(timeout: .now() + 60) == .success)
        // The start may run on the thread of another test.
        let hasEnded = DispatchSemaphore(value: 0)
        connections[3].completionBlock = { hasEnded.signal() }
        connections[2].cancel()
        #expect(hasEnded.wait(timeout: .now() + 60) == .success)
        mayGoOn.signal()
    }

    @Test func `every connection of a random graph finishes, with cancels and removals at any moment`() async throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(20, soaking: 2000) {
            let engines = [engine(), engine()]
            let connections = connections(60, of: engines[0])
            for connection in connections { connection.failedDependencies = .ignore }
            var edges: [(Connection, Connection)] = []
            for _ in 0..<120 {
                let (one, two) = (Int.random(in: 0..<60, using: &random), Int.random(in: 0..<60, using: &random))
                guard one != two else { continue }
                connections[max(one, two)].addDependency(connections[min(one, two)])
                edges.append((connections[max(one, two)], connections[min(one, two)]))
            }
            let (order, canceled) = (
                connections.shuffled(using: &random), connections.shuffled(using: &random).prefix(10)
            )
            let removed = edges.shuffled(using: &random).prefix(10)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for (index, connection) in order.enumerated() { engines[index % 2].start(connection) }
                }
                group.addTask { for connection in canceled { connection.cancel() } }
                group.addTask { for (one, two) in removed { one.removeDependency(two) } }
            }
            for connection in connections { _ = try? await connection.response }
            await untilTrue { connections.allSatisfy(\.isFinished) }
            // A finished connection waits for no dependency.
            await untilTrue { connections.allSatisfy { DependencyGraph.dependencies(of: $0).isEmpty } }
        }
    }
}

/// Refers to a connection without retaining it.
struct WeakConnection: Sendable {
    struct Reference { weak var value: Connection? }

    let connection: Guarded<Reference>

    init(_ connection: Connection?) { self.connection = Guarded(Reference(value: connection)) }

    var isGone: Bool { connection.withLock { $0.value == nil } }
}
