import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

/// RFC 9111 section 4.4.
@Suite("Invalidation by unsafe methods", .limit(minutes: 5)) struct EngineInvalidationTests {
    let temporary = TemporaryStore()

    private func engine(status: Int = 200, headers: HTTPFields = [:]) -> Engine {
        temporary.engine(
            StubTransport { request throws(TransportError) in
                request.method == .get
                    ? .stub(headers: [.cacheControl: "max-age=60", .eTag: "\"1\""])
                    : .stub(status: status, headers: headers)
            })
    }

    private static let stored = [
        "http://h/cities?a=1&b=2", "http://h/cities", "http://h/towns/1", "http://h/towns?token=1",
        "http://other/towns/1",
    ]

    /// The stored URLs that are requested again.
    private func asked(_ engine: Engine, after request: Request) async throws -> [String] {
        try await asked(engine) { _ = try await engine.send(request) }
    }

    /// The stored URLs that are requested again after a failed request.
    private func askedAfterFailure(_ engine: Engine) async throws -> [String] {
        try await asked(engine) {
            await #expect(throws: ConnectionError.self) {
                try await engine.send(Request("http://h/cities", method: .post))
            }
        }
    }

    private func asked(_ engine: Engine, after change: () async throws -> Void) async throws -> [String] {
        for url in Self.stored { _ = try await engine.send(Request(url)) }
        try await change()
        var asked: [String] = []
        for url in Self.stored where try await engine.send(Request(url)).source == .network { asked.append(url) }
        return asked
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .patch, .delete, HTTPRequest.Method("LOCK") ?? .put])
    func `an unsafe method invalidates the entries of its URL, and no others`(method: HTTPRequest.Method) async throws {
        let asked = try await asked(engine(), after: Request("HTTP://H:80/./cities", method: method))
        #expect(asked == ["http://h/cities"])
    }

    @Test func `a retried unsafe request invalidates, whatever its last response`() async throws {
        let answers = Guarded(0)
        let transport = StubTransport { request throws(TransportError) in
            guard request.method == .delete else { return .stub(headers: [.cacheControl: "max-age=60"]) }
            let isFirst = answers.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { throw TransportError(.connectionLost, "lost", serverMayHaveActed: true) }
            return .stub(status: 404)
        }
        var request = Request("http://h/cities", method: .delete)
        request.retry = .default
        #expect(try await asked(temporary.engine(transport), after: request) == ["http://h/cities"])
    }

    @Test(arguments: [(true, ["http://h/cities"]), (false, [])])
    func `an unsafe request without a response invalidates where it may have been sent`(
        isSent: Bool,
        asked: [String]
    ) async throws {
        let transport = StubTransport { request throws(TransportError) in
            guard request.method == .post else { return .stub(headers: [.cacheControl: "max-age=60"]) }
            throw TransportError(.connectionLost, "lost", serverMayHaveActed: isSent)
        }
        #expect(try await askedAfterFailure(temporary.engine(transport)) == asked)
    }

    @Test(arguments: [
        ("/towns/1", ["http://h/cities", "http://h/towns/1"]), ("http://other/towns/1", ["http://h/cities"]),
    ])
    func `a redirected unsafe request invalidates its URLs even if the last hop was not sent`(
        location: String,
        asked: [String]
    ) async throws {
        let transport = StubTransport { request throws(TransportError) in
            guard request.method == .post else { return .stub(headers: [.cacheControl: "max-age=60"]) }
            if request.url.hasSuffix("/cities") { return .stub(status: 307, headers: [.location: location]) }
            throw TransportError(.cannotConnect, "refused")
        }
        #expect(try await askedAfterFailure(temporary.engine(transport)) == asked)
    }

    @Test(arguments: [false, true])
    func `an unsafe request canceled between attempts invalidates where it may have been sent`(
        isSent: Bool
    ) async throws {
        let transport = StubTransport { request throws(TransportError) in
            guard request.method == .delete else { return .stub(headers: [.cacheControl: "max-age=60"]) }
            throw TransportError(.connectionLost, "lost", serverMayHaveActed: isSent)
        }
        let clock = TestClock()
        var configuration = Engine.Configuration(testing: transport, clock: clock, store: temporary)
        configuration.retry = .default
        configuration.draw = { 0.5 }
        let engine = Engine(configuration)
        _ = try await engine.send(Request("http://h/cities"))
        let change = Task { try await engine.send(Request("http://h/cities", method: .delete)) }
        await untilTrue { !clock.sleeping.isEmpty }
        change.cancel()
        await #expect(throws: ConnectionError.self) { try await change.value }
        #expect(try await engine.send(Request("http://h/cities")).source == (isSent ? .network : .cache))
    }

    @Test(arguments: [false, true])
    func `an unsafe request does not wait for a locked file, and invalidates at once`(
        isLost: Bool
    ) async throws {
        let transport = StubTransport { request throws(TransportError) in
            guard request.method == .post else { return .stub(headers: [.cacheControl: "max-age=60"]) }
            if isLost { throw TransportError(.connectionLost, "lost", serverMayHaveActed: true) }
            return .stub()
        }
        let (engine, failures) = (temporary.engine(transport), Guarded(0))
        let observation = engine.activity.observe { event in
            if case .cacheFailed = event { failures.withLock { $0 += 1 } }
        }
        _ = try await engine.send(Request("http://h/cities"))
        await engine.cache?.flush()
        let lock = try WriteLock(temporary.store)
        let answer = try? await engine.send(Request("http://h/cities", method: .post))
        #expect((answer == nil) == isLost)
        // A caller that waits for the locked file would report a failure.
        #expect(failures.withLock { $0 } == 0)
        #expect(try await engine.send(Request("http://h/cities")).source == .network)
        try lock.release()
        await engine.cache?.flush()
        #expect(try await engine.send(Request("http://h/cities")).source == .cache)
        withExtendedLifetime(observation) {}
    }

    @Test func `an entry that cannot be invalidated on disk is requested again`() async throws {
        let disk = FaultDisk(directory: temporary.directory)
        let transport = StubTransport(headers: [.cacheControl: "max-age=60"])
        var configuration = Engine.Configuration(testing: transport, store: temporary)
        configuration.store?.vfs = disk.vfs
        let engine = Engine(configuration)
        _ = try await engine.send(Request("http://h/cities"))
        await engine.cache?.flush()
        disk.fail(.full, atCall: 1, lasting: true)
        _ = try await engine.send(Request("http://h/cities", method: .put))
        await engine.cache?.flush()
        #expect(try await engine.send(Request("http://h/cities")).source == .network)
        #expect(disk.failures > 0)
    }

    @Test(arguments: [true, false])
    func `an entry that cannot be revoked on disk is an error with the cause`(isErasure: Bool) async throws {
        let disk = FaultDisk(directory: temporary.directory)
        let transport = StubTransport(headers: [.cacheControl: "max-age=60"])
        var configuration = Engine.Configuration(testing: transport, store: temporary)
        configuration.store?.vfs = disk.vfs
        let engine = Engine(configuration)
        let request = Request("http://h/cities")
        _ = try await engine.send(request)
        await engine.cache?.flush()
        disk.fail(.full, atCall: 1, lasting: true)
        let error = await #expect(throws: ConnectionError.self) {
            try await isErasure ? engine.purge(request) : engine.invalidate(request)
        }
        #expect(error?.code == .other && (error?.cause as? CacheError)?.code == .diskFull)
    }

    @Test func `an unsafe method invalidates the URL with its parameters, in any order`() async throws {
        var request = Request("http://h/cities?b=2", method: .post, parameters: ["a": 1], body: .json(1))
        request.destination = .query
        #expect(try await asked(engine(), after: request) == ["http://h/cities?a=1&b=2"])
    }

    @Test(arguments: [
        ("/towns/1", ["http://h/cities", "http://h/towns/1"]),
        ("http://h/towns/1", ["http://h/cities", "http://h/towns/1"]),
        ("/cities?b=2&a=1", ["http://h/cities?a=1&b=2", "http://h/cities"]),
        ("towns?token=1", ["http://h/cities", "http://h/towns?token=1"]),
        ("http://other/towns/1", ["http://h/cities"]), ("::no URL::", ["http://h/cities"]),
    ])
    func `an unsafe method also invalidates URLs that its response names, within its origin`(
        location: String,
        asked: [String]
    ) async throws {
        for name in [HTTPField.Name.location, .contentLocation] {
            let engine = engine(status: 201, headers: [name: location])
            #expect(try await self.asked(engine, after: Request("http://h/cities", method: .post)) == asked)
            try await engine.cache?.purge()
        }
    }

    /// The changed URL, and the URL that the response names.
    private static let changes: [(url: String, location: String?)] = [
        ("http://h/cities", nil), ("http://h/cities?_=2", nil), ("http://h/towns", "/cities?_=3"),
    ]

    @Test(arguments: changes)
    func `an ignored parameter of the URL hides no stored entry from an invalidation`(
        changed: String, location: String?
    ) async throws {
        let transport = StubTransport { request throws(TransportError) in
            guard request.method == .put else { return .stub(headers: [.cacheControl: "max-age=60"]) }
            return .stub(headers: location.map { [.location: $0] } ?? [:])
        }
        var configuration = Engine.Configuration(testing: transport, store: temporary)
        configuration.rules.ignoring = ["_"]
        let engine = Engine(configuration)
        _ = try await engine.send(Request("http://h/cities?_=1"))
        #expect(try await engine.send(Request("http://h/cities")).source == .cache)
        _ = try await engine.send(Request(changed, method: .put))
        #expect(try await engine.send(Request("http://h/cities")).source == .network)
    }

    @Test(arguments: [false, true])
    func `a parameter ignored by the stored request hides no entry from an invalidation`(isNamed: Bool) async throws {
        let transport = StubTransport { request throws(TransportError) in
            guard request.method == .put else { return .stub(headers: [.cacheControl: "max-age=60"]) }
            return .stub(headers: isNamed ? [.location: "/cities?t=5"] : [:])
        }
        let engine = Engine(Engine.Configuration(testing: transport, store: temporary))
        var stored = Request("http://h/cities?t=5")
        stored.rules.ignoring = ["t"]
        _ = try await engine.send(stored)
        #expect(try await engine.send(stored).source == .cache)
        _ = try await engine.send(Request(isNamed ? "http://h/towns" : "http://h/cities?t=5", method: .put))
        #expect(try await engine.send(stored).source == .network)
    }

    /// The URLs stored under one key, the last by a reload, the changed URL, and the URL requested then.
    private static let others: [(identity: String?, stored: [String], changed: String, asked: String)] = [
        (nil, ["/x?t=5"], "/x", "/x"), (nil, ["/x?t=5"], "/x", "/x?t=5"),
        (nil, ["/x?t=5", "/x?t=6"], "/x?t=5", "/x?t=5"),
        ("anna", ["/x?token=5"], "/x", "/x"), ("anna", ["/x?token=5"], "/x", "/x?token=6"),
    ]

    /// Ignores `t` where the URL has it; an identity stands for `token`.
    private func other(_ path: String, identity: String? = nil) -> Request {
        var request = Request("http://h\(path)")
        if path.contains("t=") { request.rules.ignoring = ["t"] }
        if identity != nil { request.rules.secrets = ["token"] }
        request.identity = identity
        return request
    }

    @Test(arguments: others, [false, true])
    func `an unsafe method invalidates an entry of its key that another URL has stored`(
        urls: (identity: String?, stored: [String], changed: String, asked: String),
        isWritten: Bool
    ) async throws {
        let engine = engine()
        for url in urls.stored {
            var request = other(url, identity: urls.identity)
            request.cache = .reload
            _ = try await engine.send(request)
        }
        let asked = other(urls.asked, identity: urls.identity)
        #expect(try await engine.send(asked).source == .cache)
        if isWritten { await engine.cache?.flush() }
        _ = try await engine.send(Request("http://h\(urls.changed)", method: .put))
        if isWritten {
            await engine.cache?.flush()
            engine.cache?.memory.removeAll()
        }
        #expect(try await engine.send(asked).source == .network)
    }

    @Test func `an unsafe method invalidates an entry stored without an ignored parameter`() async throws {
        let engine = engine()
        func request(_ path: String) -> Request {
            var request = Request("http://h\(path)")
            request.rules.ignoring = ["_"]
            return request
        }
        _ = try await engine.send(request("/x"))
        #expect(try await engine.send(request("/x?_=1")).source == .cache)
        _ = try await engine.send(Request("http://h/x?_=2", method: .put))
        await engine.cache?.flush()
        engine.cache?.memory.removeAll()
        #expect(try await engine.send(request("/x?_=1")).source == .network)
    }

    @Test(arguments: [nil, AESGCMSeal.first])
    func `an entry read into memory under another URL is invalidated by the URL that stored it`(
        seal: AESGCMSeal?
    ) async throws {
        let uptime = Guarded(Uptime(rawValue: 0))
        let caches = try [temporary.store, temporary.store].map {
            try Cache($0, seal: seal, memoryCapacity: 1 << 20, timing: CacheTiming(uptime: { uptime.withLock { $0 } }))
        }
        let entry = try CacheEntry.stub("http://h/x?t=5")
        caches[0].store(entry)
        await caches[0].flush()
        caches[0].memory.removeAll()
        for cache in caches { #expect(cache.find(entry.key, request: entry.request, url: "http://h/x") != nil) }
        #expect(try await caches[0].evict(to: 0).count == 1)
        caches[0].markStale(urls: [entry.url])
        await caches[0].flush()
        uptime.withLock { $0 += CrossProcessChanges.interval }
        for cache in caches { #expect(cache.find(entry.key, request: entry.request) == nil) }
    }

    @Test(arguments: [false, true])
    func `a response in flight with the changed key is stored as stale, unless only a URL was purged`(
        isChange: Bool
    ) async throws {
        let gate = Gate()
        let transport = StubTransport { request throws(TransportError) in
            guard request.method == .get else { return .stub() }
            await gate.wait()
            return .stub(headers: [.cacheControl: "max-age=60"])
        }
        let engine = temporary.engine(transport)
        let connection = engine.start(other("/x?t=5"))
        await untilTrue { transport.requests.count == 1 }
        if isChange {
            _ = try await engine.send(Request("http://h/x", method: .put))
        } else {
            _ = try await engine.cache?.purge(.url("http://h/x"))
        }
        gate.open()
        _ = try await connection.response
        #expect(try await engine.send(other("/x?t=5")).source == (isChange ? .network : .cache))
    }

    @Test(arguments: ["cities", "towns", nil])
    func `an unsafe method with the app's own key invalidates the GET of that key`(key: String?) async throws {
        let engine = engine()
        var (stored, change) = (
            Request("http://h/cities"), Request("http://h/towns", method: .put, body: .json(["token": 1]))
        )
        (stored.cacheKey, change.cacheKey) = ("cities", key)
        _ = try await engine.send(stored)
        _ = try await engine.send(change)
        #expect(try await engine.send(stored).source == (key == "cities" ? .network : .cache))
    }

    @Test(arguments: [400, 404, 409, 500, 503]) func `a failed unsafe method invalidates nothing`(status: Int)
        async throws
    {
        #expect(try await asked(engine(status: status), after: Request("http://h/cities", method: .put)) == [])
    }

    @Test(arguments: [HTTPRequest.Method.head, .options, .query])
    func `a safe method invalidates nothing`(method: HTTPRequest.Method) async throws {
        #expect(try await asked(engine(), after: Request("http://h/cities", method: method)) == [])
    }

    @Test func `a tag or a predicate invalidates the entries that it selects`() async throws {
        let engine = engine()
        let cache = try #require(engine.cache)
        var request = Request("http://h/cities")
        request.tags = ["cities"]
        _ = try await engine.send(request)
        #expect(try await cache.invalidate(.tag("cities")) == 1)
        #expect(try await engine.send(request).source == .network)
        #expect(try await cache.invalidate(where: { $0.url.hasSuffix("cities") && $0.date > .distantPast }) == 1)
        #expect(try await engine.send(request).source == .network)
        #expect(try await cache.purge(where: { $0.bodySize > 1000 }) == 0)
        #expect(try await cache.purge(where: { $0.bodySize < 1000 }) == 1)
    }
}
