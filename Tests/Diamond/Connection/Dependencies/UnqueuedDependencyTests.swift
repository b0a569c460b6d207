import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A dependency that was not started", .limit(minutes: 5)) struct UnqueuedDependencyTests {
    /// Answers with the `Authorization` field, or else with the URL.
    private let transport = StubTransport { request throws(TransportError) in
        .stub(body: request.headers[.authorization] ?? request.url)
    }

    /// `@unchecked Sendable`: set before it is shared.
    private final class RemainingReferences: @unchecked Sendable {
        weak var members: ConnectionRegistry?
    }

    private func engine() -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        return Engine(configuration)
    }

    /// The dependents.
    enum Dependents: CaseIterable { case one, two, anotherThatIsNotStarted, anotherThatIs }

    @Test(arguments: Dependents.allCases, [false, true])
    func `is released with its engine, and its dependents end`(
        wait: Dependents, isOwn: Bool
    ) async {
        let left = RemainingReferences()
        do {
            let engine = engine()
            let request = Request("http://h/login")
            let login = isOwn ? engine.connection(for: request) : Connection(request)
            let cities = (0..<2).map { engine.connection(for: Request("http://h/\($0)")) }
            cities[0].addDependency(login)
            switch wait {
            case .one: break
            case .two: cities[1].addDependency(login)
            case .anotherThatIsNotStarted, .anotherThatIs: cities[1].addDependency(cities[0])
            }
            if wait != .anotherThatIsNotStarted { engine.start(cities[0]) }
            if wait != .one { engine.start(cities[1]) }
            left.members = engine.members
        }
        await untilTrue { left.members == nil }
    }

    /// Two connections of a released engine.
    private func remains() -> (login: Connection, cities: Connection) {
        let engine = engine()
        let (login, cities) = (Connection(Request("http://h/login")), Connection(Request("http://h/cities")))
        cities.addDependency(login) { request, response in request.headers[.authorization] = response.text }
        engine.start(cities)
        return (login, cities)
    }

    @Test func `is waited for while the app retains it without its engine`() async {
        let cities: Connection
        do {
            let login: Connection
            (login, cities) = remains()
            withExtendedLifetime(login) { #expect(cities.state == .ready) }
        }
        let error = await #expect(throws: ConnectionError.self) { try await cities.response }
        #expect(error?.code == .cancelled)
        await untilTrue { cities.isFinished }
    }

    @Test func `delivers its result when another engine runs it`() async throws {
        let (login, cities) = remains()
        let other = engine()
        other.start(login)
        #expect(try await cities.response.text == "http://h/login")
        await other.close()
    }

    @Test func `is not waited for after its removal`() async throws {
        let (login, cities) = remains()
        cities.removeDependency(login)
        #expect(try await cities.response.text == "http://h/cities")
        withExtendedLifetime(login) {}
    }
}
