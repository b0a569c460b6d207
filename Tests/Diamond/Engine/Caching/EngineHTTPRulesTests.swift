import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An engine that obeys HTTP alone", .limit(minutes: 5)) struct EngineHTTPRulesTests {
    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private let request = Request("http://h/")

    private func engine(
        _ transport: StubTransport,
        _ kind: CacheKind = .private,
        usesHTTPRules: Bool = true
    ) -> Engine {
        temporary.engine(transport, clock: clock) {
            $0.cacheKind = kind
            $0.identityPreset = usesHTTPRules ? .http : .selectingHeaders
        }
    }

    @Test(
        arguments: [
            ("max-age=10", nil, .private, true), ("max-age=10", 503, .private, false),
            ("max-age=10, must-revalidate", nil, .private, false), ("max-age=10, no-cache", nil, .private, false),
            ("max-age=10, proxy-revalidate", nil, .private, true), ("max-age=10", nil, .shared, true),
            ("max-age=10, proxy-revalidate", nil, .shared, false), ("s-maxage=10", nil, .shared, false),
            ("max-age=10, stale-if-error=60", 503, .private, true),
        ] as [(String, Int?, CacheKind, Bool)])
    func `serves a stale response when the server cannot be reached, unless that is forbidden`(
        control: String, status: Int?, kind: CacheKind, isServed: Bool
    ) async throws {
        let isDown = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            guard isDown.withLock({ $0 }) else { return .stub(headers: [.cacheControl: control]) }
            guard let status else { throw TransportError(.cannotConnect, "refused") }
            return .stub(status: status)
        }
        let engine = engine(transport, kind)
        _ = try await engine.send(request)
        isDown.withLock { $0 = true }
        clock.advance(by: 20)
        let response = try? await engine.send(request)
        #expect((response?.source == .stale) == isServed)
        #expect(isServed || response?.status.code == status)
        for control in ["no-cache", "max-age=5", "min-fresh=1"] {
            let limited = Request("http://h/", headers: [.cacheControl: control])
            if status == nil { await #expect(throws: ConnectionError.self) { try await engine.send(limited) } }
        }
        await engine.close()
    }

    @Test(
        arguments: [
            (404, [:], false), (404, [.cacheControl: "no-store"], false), (410, [.cacheControl: "no-store"], false),
            (410, [.vary: "*"], false), (301, [.cacheControl: "no-store"], false),
            (302, [.cacheControl: "no-store"], true), (401, [.cacheControl: "no-store"], true),
            (403, [.cacheControl: "no-store"], true), (503, [.cacheControl: "no-store"], true), (503, [:], true),
        ] as [(status: Int, headers: HTTPFields, isServed: Bool)], CacheKind.allCases)
    func `serves no stale response after the server's word that there is another or none`(
        answer: (status: Int, headers: HTTPFields, isServed: Bool), kind: CacheKind
    ) async throws {
        let isGone = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            isGone.withLock { $0 }
                ? .stub(status: answer.status, headers: answer.headers, body: "gone")
                : .stub(headers: [.cacheControl: "max-age=10", .eTag: "\"1\""], body: "old")
        }
        let engine = engine(transport, kind)
        _ = try await engine.send(request)
        clock.advance(by: 20)
        isGone.withLock { $0 = true }
        #expect(try await engine.send(request).status.code == answer.status)
        let stale = Request("http://h/", headers: [.cacheControl: "max-stale"])
        #expect((try await engine.send(stale).text == "old") == answer.isServed)
        await engine.close()
    }

    @Test func `serves no stale response without the HTTP rules when the server cannot be reached`() async throws {
        let isDown = Guarded(false)
        let transport = StubTransport { _ throws(TransportError) in
            if isDown.withLock({ $0 }) { throw TransportError(.cannotConnect, "refused") }
            return .stub(headers: [.cacheControl: "max-age=10"])
        }
        let engine = engine(transport, usesHTTPRules: false)
        _ = try await engine.send(request)
        isDown.withLock { $0 = true }
        clock.advance(by: 20)
        await #expect(throws: ConnectionError.self) { try await engine.send(request) }
        await engine.close()
    }
}
