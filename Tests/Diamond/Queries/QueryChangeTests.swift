import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A query that time, the network and others change", .limit(minutes: 5)) struct QueryChangeTests {
    private let fixture = QueryFixture()

    @Test func `a query is fetched again after the shortest interval of its observers`() async {
        let engine = fixture.engine()
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities, every: .seconds(30)))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        await untilTrue { fixture.clock.sleeping.contains(.seconds(30)) }
        let other = QueryRecorder(engine.updates(QueryFixture.cities, every: .seconds(10)))
        await untilTrue { fixture.clock.sleeping.contains(.seconds(10)) }
        fixture.server.version = 2
        fixture.clock.advance(by: .seconds(9))
        #expect(fixture.transport.requests.count == 1)
        fixture.clock.advance(by: .seconds(1))
        await recorder.untilLast { $0.version == 2 && !$0.isFetching }
        other.cancel()
        await untilTrue { other.hasEnded }
        await untilTrue { fixture.clock.sleeping.contains(.seconds(10)) }
        fixture.clock.advance(by: .seconds(10))
        await untilTrue { fixture.clock.sleeping.contains(.seconds(20)) }
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func `a query that has failed is fetched when the network returns`() async {
        let engine = fixture.engine()
        (fixture.server.isOffline, fixture.reachability.isReachable) = (true, false)
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await recorder.untilLast { $0.error?.code == .cannotConnect && $0.value == nil && !$0.isFetching }
        (fixture.server.isOffline, fixture.reachability.isReachable) = (false, true)
        await recorder.untilLast { $0.version == 1 && $0.error == nil }
    }

    @Test func `a stale query is fetched when the app enters the foreground, if an observer asks for it`() async {
        let engine = fixture.engine()
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        let other = QueryRecorder(engine.updates(Request("http://h/other"), on: []))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        await other.untilLast { $0.version == 1 && !$0.isFetching }
        fixture.server.version = 2
        fixture.clock.advance(by: .seconds(61))
        engine.appDidEnterForeground()
        await recorder.untilLast { $0.version == 2 && !$0.isFetching }
        #expect(fixture.transport.requests.count == 3 && other.last?.version == 1)
    }

    /// Runs a process that stores version 2, or invalidates the stored version.
    private func runProcess(_ change: String) async throws {
        let time = "\(fixture.clock.wallTime)"
        let process = try ChildProcess(
            BuiltTool("StoreHammer").url, [change, fixture.temporary.directory.path, time])
        #expect(await process.ended() == .exited(0))
    }

    @Test(arguments: [true, false])
    func `a query shows what another process has stored`(isInvalidated: Bool) async throws {
        let engine = fixture.engine()
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        await engine.cache?.flush()
        fixture.clock.advance(by: .milliseconds(10))
        fixture.server.version = 2
        try await runProcess(isInvalidated ? "invalidate" : "store")
        let asked = fixture.transport.requests.count
        await untilTrue {
            fixture.clock.advance(by: QueryWatch.pollInterval)
            return recorder.last?.version == 2 && recorder.last?.isFetching == false
        }
        #expect(recorder.last?.source == (isInvalidated ? .network : .cache))
        #expect(fixture.transport.requests.count == asked + (isInvalidated ? 1 : 0))
    }

    @Test func `a query without a value shows what another process has stored`() async throws {
        let engine = fixture.engine()
        fixture.server.isOffline = true
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await recorder.untilLast { $0.error?.code == .cannotConnect && !$0.isFetching }
        try await runProcess("store")
        await untilTrue {
            fixture.clock.advance(by: QueryWatch.pollInterval)
            return recorder.last?.version == 2 && recorder.last?.error == nil
        }
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func `a query without a store shows what another call has received`() async throws {
        let engine = fixture.engine(hasStore: false)
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        let typed = QueryRecorder(engine.updates(QueryFixture.Version()))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        await typed.untilLast { $0.value == 1 && !$0.isFetching }
        fixture.clock.advance(by: .milliseconds(10))
        fixture.server.version = 2
        let asked = fixture.transport.requests.count
        _ = try await engine.send(QueryFixture.cities)
        await recorder.untilLast { $0.version == 2 && !$0.isFetching }
        await typed.untilLast { $0.value == 2 && !$0.isFetching }
        #expect(fixture.transport.requests.count == asked + 1)
        await engine.close()
    }

    @Test func `a query without a store shows no older answer, and none of another request or user`() async throws {
        let engine = fixture.engine(hasStore: false) { $0.interceptors = [Suffix()] }
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await recorder.untilLast { $0.value?.text == "1!" && !$0.isFetching }
        fixture.clock.advance(by: .milliseconds(10))
        fixture.server.version = 2
        for change in Self.others {
            var request = QueryFixture.cities
            change(&request)
            _ = try? await engine.send(request)
        }
        fixture.server.status = 503
        _ = try await engine.send(QueryFixture.cities)
        // A later change shows that none was due before.
        fixture.server.status = 200
        fixture.server.version = 3
        fixture.clock.advance(by: .milliseconds(10))
        _ = try await engine.send(QueryFixture.cities)
        await recorder.untilLast { $0.value?.text == "3!" && !$0.isFetching }
        #expect(recorder.states.compactMap { $0.value?.text }.allSatisfy { $0 != "2!" })
        await engine.close()
    }

    private static let others: [@Sendable (inout Request) -> Void] = [
        { $0.url = "http://h/towns" }, { $0.identity = "ben" }, { $0.headers[.authorization] = "Basic YTpi" },
        { $0.method = .head }, { $0.cache = .noStore },
    ]

    @Test func `a query does not show the value of a user who has signed out`() async throws {
        let user = Guarded("anna")
        let engine = fixture.engine { $0.credentials = StubUser(user) }
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        fixture.server.gate.close()
        fixture.server.version = 2
        user.withLock { $0 = "bob" }
        try await engine.forget(identity: "anna")
        await recorder.untilLast { $0.value == nil && $0.response == nil && $0.isFetching }
        fixture.server.gate.open()
        await recorder.untilLast { $0.version == 2 && !$0.isFetching }
    }

    @Test func `a query that is fetched for another user first drops the value`() async throws {
        let user = Guarded("anna")
        let engine = fixture.engine { $0.credentials = StubUser(user) }
        let recorder = QueryRecorder(engine.updates(QueryFixture.cities))
        await recorder.untilLast { $0.version == 1 && !$0.isFetching }
        user.withLock { $0 = "bob" }
        fixture.server.status = 503
        try await engine.invalidate(.tag("cities"))
        await recorder.untilLast { $0.value == nil && $0.error?.code == .badStatus }
    }
}

/// An interceptor that changes the bodies of responses.
private struct Suffix: Interceptor {
    func transform(_ response: inout Response) async throws { response.body += Data("!".utf8) }
}

/// A provider of the identity that the test sets.
private struct StubUser: CredentialProvider {
    let user: Guarded<String>

    init(_ user: Guarded<String>) { self.user = user }

    func identity(for request: Request) async throws -> String? { user.withLock { $0 } }
    func secret(_ name: String, for identity: String?) async throws -> String? { nil }
}
