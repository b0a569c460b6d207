import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// RFC 9111 section 4: the most recent response is used, whichever process has stored it.
@Suite("A response that another one has overtaken", .limit(minutes: 5)) struct OvertakenAnswerTests {
    /// An answer, by its number: its `Date` in seconds after the first, and its `Vary`.
    struct Answer: Sendable {
        let date: Int64
        var vary: String?
    }

    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private let asked = Guarded(0)
    private let gates = [Gate(), Gate()]
    private static let url = "http://h/"

    /// Answers each GET when its gate is open, in the order of the requests of all engines.
    private func transport(_ answers: [Answer]) -> StubTransport {
        let begin = clock.wallTime
        return StubTransport { [asked, gates] request throws(TransportError) in
            guard request.method == .get else { return .stub(status: 204, body: "") }
            let number = asked.withLock { count in
                defer { count += 1 }
                return count
            }
            guard number < gates.count else { return .stub(headers: [.cacheControl: "max-age=3600"], body: "later") }
            await gates[number].wait()
            var headers: HTTPFields = [.cacheControl: "max-age=3600"]
            headers[.date] = HTTPDate.text(of: begin + answers[number].date * 1000)
            headers[.vary] = answers[number].vary
            return .stub(headers: headers, body: "\(number)")
        }
    }

    private func engine(_ transport: StubTransport, memory: Int = 1 << 20, isGateway: Bool = false) -> Engine {
        temporary.engine(transport, clock: clock) {
            $0.identityPreset = .http
            $0.memoryCapacity = memory
            if isGateway { $0.makeGateway(width: 64) }
        }
    }

    private func begin(_ engine: Engine, number: Int) async -> Task<Response, any Error> {
        let task = Task { try await engine.send(Request(Self.url, cache: .reload)) }
        await untilTrue { asked.withLock { $0 } == number + 1 }
        clock.advance(by: 0.01)
        return task
    }

    /// Sends two requests, and answers the second before the first.
    private func overtake(_ first: Engine, by second: Engine) async throws {
        let early = await begin(first, number: 0)
        let late = await begin(second, number: 1)
        gates[1].open()
        #expect(try await late.value.text == "1")
        await second.cache?.flush()
        clock.advance(by: 1)
        gates[0].open()
        #expect(try await early.value.text == "0")
        await first.cache?.flush()
    }

    private func stored(_ engine: Engine) async throws -> String {
        try await engine.send(Request(Self.url, cache: .cacheOnly)).text
    }

    static let pairs: [(first: Answer, second: Answer, stored: String)] = [
        (Answer(date: -10), Answer(date: 0), "1"), (Answer(date: 0), Answer(date: -10), "0"),
        // The later request has the newer response.
        (Answer(date: -5), Answer(date: -5), "1"),
        (Answer(date: -10, vary: "Accept"), Answer(date: 0), "1"),
        (Answer(date: -10), Answer(date: 0, vary: "Accept"), "1"),
        (Answer(date: -10, vary: "Accept"), Answer(date: 0, vary: "Accept-Language"), "1"),
    ]

    @Test(arguments: pairs.indices, [1 << 20, 0])
    func `does not replace a newer one, also if that is on disk only`(index: Int, memory: Int) async throws {
        let pair = Self.pairs[index]
        let engine = engine(transport([pair.first, pair.second]), memory: memory)
        try await overtake(engine, by: engine)
        #expect(try await stored(engine) == pair.stored)
    }

    @Test(arguments: pairs.indices)
    func `does not replace a newer one of another process`(index: Int) async throws {
        let pair = Self.pairs[index]
        let transport = transport([pair.first, pair.second])
        let engines = [engine(transport), engine(transport)]
        try await overtake(engines[0], by: engines[1])
        #expect(try await stored(engine(transport)) == pair.stored)
        #expect(try await stored(engines[0]) == pair.stored)
    }

    @Test func `does not replace a newer one that another process writes at the same time`() async throws {
        let old = try CacheEntry.stub("a", body: Data("old".utf8)).requested(at: 1000, received: 5000)
        let new = try CacheEntry.stub("a", body: Data("new".utf8)).requested(at: 2000, received: 3000)
        for (first, second) in [(new, old), (old, new)] {
            let caches = [try Cache(temporary.store), try Cache(temporary.store)]
            caches[0].store(first)
            await caches[0].flush()
            caches[1].store(second)
            await caches[1].flush()
            for cache in caches.reversed() {
                cache.applyOtherProcessesChanges(isDue: true)
                #expect(cache.find(new.key, request: new.request)?.body == Data("new".utf8))
            }
            try await caches[0].purge()
        }
    }

    /// Ways in which another process makes a response stale.
    static let changes: [(String, @Sendable (Engine) async throws -> Void)] = [
        ("a POST", { engine in _ = try await engine.send(Request(url, method: .post)) }),
        ("a URL", { engine in try await engine.cache?.invalidate(.url(url)) }),
        ("all", { engine in try await engine.cache?.invalidate(.all) }),
        ("all, erased", { engine in try await engine.cache?.purge() }),
    ]

    @Test(arguments: changes, [false, true])
    func `is stale if another process has changed it since it was requested`(
        change: (String, @Sendable (Engine) async throws -> Void), isLarge: Bool
    ) async throws {
        let body = isLarge ? Data.noise(3 << 20) : Data("old".utf8)
        let server = PushingServer()
        let transport = server.transport
        let first = engine(transport, isGateway: true)
        let second = engine(StubTransport(status: 204, body: ""))
        let client = SilentClient()
        let request = Request(forwarding: .get, origin: "http://h", target: "/", headers: [:])
        let task = Task { try await first.forward(request, target: "/", upload: nil, to: client) }
        await untilTrue { server.count == 1 }
        try await change.1(second)
        await second.cache?.flush()
        server.push(body)
        server.finish()
        try await task.value
        await first.cache?.flush()
        for engine in [engine(transport, isGateway: true), first] {
            guard case .send = engine.pipeline.step(of: request) else {
                Issue.record("served")
                continue
            }
        }
    }

    @Test func `is fresh after a change by its own process before it was requested`() async throws {
        let engine = engine(StubTransport(headers: [.cacheControl: "max-age=60"]))
        for _ in 0..<3 {
            _ = try await engine.send(Request(Self.url, method: .post))
            #expect(try await engine.send(Request(Self.url)).source == .network)
            await engine.cache?.flush()
            #expect(try await engine.send(Request(Self.url)).source == .cache)
        }
    }
}

private struct SilentClient: GatewayClient {
    var hasSentBody: Bool { true }

    func begin(_ head: Response) {}
    func write(_ piece: Data) {}
}

extension CacheEntry {
    fileprivate func requested(at sentAt: WallTime, received receivedAt: WallTime) -> CacheEntry {
        var entry = self
        entry.stored.storedAt = receivedAt
        entry.stored.duration = receivedAt.milliseconds(since: sentAt)
        entry.stored.initialAge = receivedAt.milliseconds(since: sentAt)
        return entry
    }
}

extension Pipeline {
    /// Returns the next step for a request of a gateway.
    fileprivate func step(of request: Request) -> CacheLookup.Step? {
        (try? ResolvedRequest(request, rules: environment.rules)).map { resolved in
            lookup.step(for: RequestContext(resolved, for: Caller(), at: invalidations.position), ignoresStored: false)
        }
    }
}
