import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Serial lanes", .limit(minutes: 10)) struct SerialLanesTests {
    private let server = ManualServer()
    private let temporary = TemporaryStore()
    private let clock = ManualClock()

    private func engine(_ lanes: [Lane: LaneLimits] = [:]) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = server.transport
        configuration.now = { [clock] in clock.now }
        configuration.lanes = lanes
        return Engine(configuration)
    }

    private func flying(_ urls: [String]) async { await untilTrue { server.flying == urls } }

    @Test func `keep their order, through answers from the cache and failures`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            if request.url.hasSuffix("3") { throw TransportError(.cannotConnect, "nobody there") }
            return .stub(headers: [.cacheControl: "max-age=3600"])
        }
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.retry = .never
        configuration.transport = transport
        configuration.now = { [clock] in clock.now }
        configuration.lanes = ["api": .serial]
        let engine = Engine(configuration)
        _ = try await engine.send(Request("http://h/5", "api"))
        let order = Guarded<[Int]>([])
        let connections = (0..<20).map { number in
            let connection = engine.connection(for: Request("http://h/\(number)", "api"))
            Task {
                for await state in connection.states where state.isFinished { order.withLock { $0.append(number) } }
            }
            return connection
        }
        for connection in connections { engine.start(connection) }
        for connection in connections { _ = try? await connection.response }
        let urls = ([5] + (0..<20).filter { $0 != 5 }).map { "http://h/\($0)" }
        #expect(transport.requests.map(\.url) == urls)
        await untilTrue { order.withLock { $0.count } == 20 }
    }

    @Test func `send one request at a time while another lane sends several`() async {
        let engine = engine(["api": .serial, "images": LaneLimits(width: 4)])
        let (answers, images) = (Guarded<[String]>([]), Guarded(0))
        let urls = (0..<3).map { "http://h/\($0)" }
        for url in urls {
            engine.send(Request(url, "api")) { response in
                answers.withLock { $0.append((try? response.get().text) ?? "") }
            }
        }
        for number in 0..<4 {
            engine.send(Request("http://i/\(number)", "images")) { _ in
                images.withLock { $0 += 1 }
            }
        }
        for url in urls {
            await flying([url] + (0..<4).map { "http://i/\($0)" })
            server.land(url)
        }
        await untilTrue { answers.withLock { $0.count } == 3 }
        #expect(answers.withLock { $0 } == urls)
        server.landAll()
        await untilTrue { images.withLock { $0 } == 4 }
    }

    @Test func `keep their order when a request in the middle is canceled`() async throws {
        let engine = engine(["api": .serial])
        let connections = (0..<4).map { engine.start(Request("http://h/\($0)", "api")) }
        await flying(["http://h/0"])
        connections[1].cancel()
        connections[2].cancel()
        await untilTrue { connections[1].isFinished && connections[2].isFinished }
        #expect(!connections[3].isExecuting)
        server.land("http://h/0")
        await flying(["http://h/3"])
        server.land("http://h/3")
        #expect(try await connections[3].response.status == .ok)
        let last = engine.start(Request("http://h/4", "api"))
        await flying(["http://h/4"])
        server.land("http://h/4")
        #expect(try await last.response.status == .ok)
    }

    @Test func `a request in a serial lane cannot wait for its own lane`() async throws {
        let engine = engine(["api": .serial])
        let connections = (0..<2).map { engine.connection(for: Request("http://h/\($0)", "api")) }
        connections[0].addDependency(connections[1])
        for connection in connections { engine.start(connection) }
        await flying(["http://h/1"])
        server.land("http://h/1")
        await flying(["http://h/0"])
        server.land("http://h/0")
        for connection in connections { #expect(try await connection.response.status == .ok) }
    }

    @Test func `fail a request whose dependency is against their order`() async throws {
        let engine = engine(["api": .serial])
        let connections = (0..<4).map { engine.start(Request("http://h/\($0)", "api")) }
        await flying(["http://h/0"])
        connections[1].addDependency(connections[3])
        server.land("http://h/0")
        let error = await #expect(throws: ConnectionError.self) { try await connections[1].response }
        #expect(error?.code == .dependencyCycle)
        let cycle = "GET http://h/1 → GET http://h/3 → GET http://h/2 → GET http://h/1"
        #expect(error?.message.contains(cycle) == true, "\(error?.message ?? "")")
        for number in 2..<4 {
            await flying(["http://h/\(number)"])
            server.land("http://h/\(number)")
            #expect(try await connections[number].response.status == .ok)
        }
    }

    @Test func `fail a request of a dependency cycle through two lanes`() async throws {
        let engine = engine(["api": .serial, "images": .serial])
        let api = (0..<3).map { engine.start(Request("http://api/\($0)", "api")) }
        let images = (0..<3).map { engine.start(Request("http://images/\($0)", "images")) }
        await flying(["http://api/0", "http://images/0"])
        api[1].addDependency(images[2])
        images[1].addDependency(api[2])
        server.land("http://api/0")
        server.land("http://images/0")
        let error = await #expect(throws: ConnectionError.self) { try await images[1].response }
        #expect(error?.code == .dependencyCycle)
        for url in ["http://images/2", "http://api/1", "http://api/2"] {
            await flying([url])
            server.land(url)
        }
        for connection in [api[1], api[2], images[2]] { #expect(try await connection.response.status == .ok) }
    }

    @Test func `let a request pass an earlier one that depends on it through another lane`() async throws {
        let engine = engine(["api": .serial, "images": .serial])
        let (first, second) = (engine.connection(for: Request("http://api/0", "api")), Request("http://api/1", "api"))
        let image = engine.connection(for: Request("http://images/0", "images"))
        let awaited = engine.connection(for: Request("http://images/1", "images"))
        first.addDependency(awaited)
        engine.start(first)
        let behind = engine.start(second)
        image.addDependency(behind)
        engine.start(image)
        engine.start(awaited)
        for url in ["http://images/1", "http://api/0", "http://api/1", "http://images/0"] {
            await flying([url])
            server.land(url)
        }
        #expect(try await image.response.status == .ok)
    }

    @Test func `detect a dependency cycle across canceled requests`() async throws {
        let engine = engine(["api": .serial])
        let awaited = engine.connection(for: Request("http://h/awaited"))
        let connections = (0..<4).map { engine.connection(for: Request("http://h/\($0)", "api")) }
        connections[0].addDependency(awaited)
        for connection in connections { engine.start(connection) }
        connections[1].cancel()
        connections[2].cancel()
        await untilTrue { connections[1].isFinished && connections[2].isFinished }
        connections[0].addDependency(connections[3])
        engine.start(awaited)
        await flying(["http://h/awaited"])
        server.land("http://h/awaited")
        let error = await #expect(throws: ConnectionError.self) { try await connections[0].response }
        #expect(error?.code == .dependencyCycle)
        await flying(["http://h/3"])
        server.land("http://h/3")
        #expect(try await connections[3].response.status == .ok)
    }
}
