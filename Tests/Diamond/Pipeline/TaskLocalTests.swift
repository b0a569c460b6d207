import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import Testing

@testable import Diamond

/// Task-local values, such as a trace, belong to the caller alone.
@Suite("Task-local values of a caller", .limit(minutes: 5)) struct TaskLocalTests {
    @TaskLocal private static var caller = "nobody"

    private let temporary = TemporaryStore()
    private let seen = Guarded<[String]>([])

    private var engine: Engine {
        temporary.engine(
            StubTransport { [seen] request throws(TransportError) in
                seen.withLock { $0.append(Self.caller) }
                return .stub(headers: [.cacheControl: "max-age=0"])
            })
    }

    /// Ways to send a request whose exchange serves others, or outlives the caller.
    enum Way: CaseIterable {
        case sharing, connection, refresh
    }

    @Test(arguments: Way.allCases)
    func `reach no exchange that is shared or that outlives the caller`(way: Way) async throws {
        let engine = engine
        let request = Request("http://h/", cache: way == .refresh ? .staleWhileRevalidate : .automatic)
        if way == .refresh { _ = try await engine.send(request) }
        _ = try await Self.$caller.withValue("anna") {
            switch way {
            case .sharing, .refresh: try await engine.send(request)
            case .connection: try await engine.start(Request("http://h/", method: .post)).response
            }
        }
        await engine.waitForRefreshes()
        #expect(!seen.withLock { $0 }.isEmpty && seen.withLock { $0.allSatisfy { $0 == "nobody" } })
    }
}
