import DiamondTesting
import HTTPTypes

@testable import Diamond

/// A server with a version, and engines over it whose clock and network the test moves.
final class QueryFixture: Sendable {
    let server = VersionServer()
    let temporary = TemporaryStore()
    let clock = TestClock()
    let reachability = StubReachability()
    let transport: StubTransport

    struct Version: Endpoint {
        typealias Output = Int
        var request: Request { QueryFixture.cities }
    }

    static var cities: Request {
        var request = Request("http://h/cities")
        request.tags = ["cities"]
        return request
    }

    init() { transport = server.transport }

    func engine(hasStore: Bool = true, _ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        var configuration = Engine.Configuration(
            testing: transport, clock: clock, store: hasStore ? temporary : nil)
        configuration.reachability = reachability
        change(&configuration)
        return Engine(configuration)
    }

    /// A request that changes something at another URL.
    static func mutation(_ tags: Tags = ["cities"]) -> Request {
        var request = Request("http://h/orders", method: .post)
        request.invalidates = tags
        return request
    }
}
