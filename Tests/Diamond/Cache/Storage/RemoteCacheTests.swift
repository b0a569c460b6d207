import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A cache on a server", .limit(minutes: 5)) struct RemoteCacheTests {
    private let server = MemoryCacheServer(refusesLeases: true)
    private let clock = TestClock()
    private let request = page(1)

    private static func page(_ number: Int) -> Request {
        var request = Request("http://h/cities?page=\(number)")
        request.tags = ["cities"]
        return request
    }

    /// Returns the engine of one more process. By default it has no memory tier, so that each lookup asks the server.
    private func engine(
        _ transport: any Transport, memory: Int = 0, _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        let place = CachePlace.server("memory") { [server] () throws(CacheError) in server.open() }
        var configuration = Engine.Configuration(store: nil, cache: place)
        configuration.transport = transport
        configuration.memoryCapacity = memory
        configuration.now = { [clock] in clock.date }
        configuration.clock = clock
        configuration.headers = [.userAgent: "Diamond"]
        configuration.retry = .never
        configuration.draw = { 0 }
        change(&configuration)
        return Engine(configuration)
    }

    private func stub(_ control: String = "max-age=60", body: String = "body") -> StubTransport {
        StubTransport(headers: [.cacheControl: control, .eTag: "\"1\""], body: body)
    }

    // MARK: Sharing

    @Test(arguments: [0, 1 << 20])
    func `a response that one process has stored is served by others`(memory: Int) async throws {
        let first = engine(stub(), memory: memory)
        let second = engine(StubTransport(status: 500), memory: memory)
        #expect(first.cacheFailure == nil)
        #expect(try await first.send(request).source == .network)
        await first.cache?.flush()
        for _ in 0..<2 {
            let response = try await second.send(request)
            #expect(response.source == .cache)
            #expect(response.text == "body")
        }
        await first.close()
        await second.close()
    }

    @Test func `a server sees neither URLs nor headers nor bodies of a sealed cache, and another key finds nothing`()
        async throws
    {
        let transport = StubTransport(
            headers: [.cacheControl: "max-age=60", .contentType: "text/plain"],
            body: .init(repeating: "secret ", count: 999))
        let seal = AESGCMSeal.first
        let first = engine(transport) { $0.seal = seal }
        let second = engine(StubTransport(status: 500)) { $0.seal = seal }
        let other = engine(stub()) { $0.seal = AESGCMSeal.other }
        _ = try await first.send(request)
        await first.cache?.flush()
        for text in ["secret", "cities", "text/plain"] {
            #expect(server.bytes.allSatisfy { $0.firstRange(of: Data(text.utf8)) == nil })
        }
        #expect(try await second.send(request).source == .cache)
        let listed = try second.cache?.list([.tag("cities"), .url(prefix: "http://h/cit")], by: .url, limit: 9)
        #expect(listed?.map(\.url) == ["http://h/cities?page=1"])
        // Its own response replaces the one that it cannot open.
        #expect(try await other.send(request).source == .network)
        for engine in [first, second, other] { await engine.close() }
    }

    @Test func `a reading of all entries continues after a page that lacks damaged ones`() async throws {
        let engine = engine(stub())
        for number in 1...3 { _ = try await engine.send(Self.page(number)) }
        await engine.cache?.flush()
        server.pageLimit = 1
        var urls: Set<String> = []
        try engine.cache?.forEachEntry { listing, _ in urls.insert(listing.url) }
        #expect(urls == ["http://h/cities?page=1", "http://h/cities?page=2", "http://h/cities?page=3"])
        var inspected = 0
        try engine.cache?.inspectRecords { _ in inspected += 1 }
        #expect(inspected == 3)
        await engine.close()
    }

    @Test func `each process finds the variant that its request selects`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            .stub(
                headers: [.cacheControl: "max-age=60", .vary: "Accept-Language"],
                body: request.headers[.acceptLanguage] ?? "")
        }
        let first = engine(transport) { $0.identityPreset = .http }
        let second = engine(StubTransport(status: 500)) { $0.identityPreset = .http }
        for language in ["de", "fr"] {
            _ = try await first.send(Request("http://h/", headers: [.acceptLanguage: language]))
            await first.cache?.flush()
        }
        for language in ["de", "fr"] {
            let response = try await second.send(Request("http://h/", headers: [.acceptLanguage: language]))
            #expect(response.source == .cache)
            #expect(response.text == language)
        }
        await first.close()
        await second.close()
    }

    @Test func `what a lookup has loaded is found although a poll is due after it`() async throws {
        let uptime = Guarded(Uptime(rawValue: 0))
        let first = try Cache(onServer: server.open(), seal: nil)
        let second = try Cache(
            onServer: server.open(), seal: nil, memoryCapacity: 0,
            timing: CacheTiming(uptime: { uptime.withLock { $0 } }, clock: clock))
        let entry = try CacheEntry.stub("http://h/a")
        // The second time it replaces an entry, which is announced.
        for _ in 0..<2 {
            first.store(entry)
            await first.flush()
        }
        let loaded = try #require(await second.load(entry.key))
        uptime.withLock { $0 += CrossProcessChanges.interval }
        #expect(second.find(entry.key, request: entry.request) != nil)
        withExtendedLifetime(loaded) {}
    }

    @Test func `a large body is stored as a whole, and one of more than 16 MiB is not stored`() async throws {
        for (size, source) in [(3 << 20, Response.Source.cache), (17 << 20, .network)] {
            let body = Data(repeating: 7, count: size)
            let transport = StubTransport { _ throws(TransportError) in
                .stub(headers: [.cacheControl: "max-age=60"], body: body)
            }
            let first = engine(transport)
            let second = engine(transport)
            let request = Request("http://h/\(size)")
            _ = try await first.send(request)
            await first.cache?.flush()
            let response = try await second.send(request)
            #expect(response.source == source)
            #expect(response.body == body)
            await first.close()
            await second.close()
        }
    }

    @Test func `a confirmation by one process makes the response fresh for others`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            .stub(
                status: request.headers.contains(.ifNoneMatch) ? 304 : 200,
                headers: [.cacheControl: "max-age=60", .eTag: "\"1\""])
        }
        let first = engine(transport)
        let second = engine(transport)
        _ = try await first.send(request)
        await first.cache?.flush()
        clock.advance(by: .seconds(61))
        #expect(try await second.send(request).source == .revalidated)
        await second.cache?.flush()
        let third = engine(StubTransport(status: 500))
        #expect(try await third.send(request).source == .cache)
        for engine in [first, second, third] { await engine.close() }
    }

    // MARK: Changes

    @Test(
        arguments: [
            .all, .tag("cities"), .host("h"), .url("http://h/cities?page=1"), .url(prefix: "http://h/c"),
        ] as [CacheSelection], [false, true])
    func `what one process invalidates or erases is not served by others`(
        selection: CacheSelection, isErasure: Bool
    ) async throws {
        let first = engine(stub())
        let second = engine(stub("max-age=60", body: "new"))
        _ = try await first.send(request)
        await first.cache?.flush()
        if isErasure {
            #expect(try await first.purge(selection) == 1)
            #expect(server.bytes.isEmpty)
        } else {
            #expect(try await first.invalidate(selection) == 1)
        }
        let response = try await second.send(request)
        #expect(response.source == .network)
        #expect(response.text == "new")
        await first.close()
        await second.close()
    }

    @Test func `an unsafe request makes the response stale for others`() async throws {
        let first = engine(stub())
        _ = try await first.send(request)
        _ = try await first.send(Request("http://h/cities?page=1", method: .put))
        await first.cache?.flush()
        let second = engine(stub("max-age=60", body: "new"))
        #expect(try await second.send(request).source == .network)
        await first.close()
        await second.close()
    }

    @Test func `a damaged record is a miss, and is erased`() async throws {
        let first = engine(stub())
        _ = try await first.send(request)
        await first.cache?.flush()
        server.damageChunks()
        let second = engine(stub("no-store"))
        let dropped = Guarded(0)
        let observation = second.activity.observe { event in
            if case .cacheEntryDropped = event { dropped.withLock { $0 += 1 } }
        }
        #expect(try await second.send(request).source == .network)
        await second.cache?.flush()
        #expect(dropped.withLock { $0 } == 1)
        #expect(server.bytes.isEmpty)
        withExtendedLifetime(observation) {}
        await first.close()
        await second.close()
    }

    @Test func `a large body that is replaced while it is read is a miss, and stays`() async throws {
        let transport = StubTransport { _ throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=60"], body: Data(repeating: 7, count: 3 << 20))
        }
        let first = engine(transport)
        _ = try await first.send(request)
        await first.cache?.flush()
        let stored = server.bytes
        let second = engine(stub("no-store"))
        let dropped = Guarded(0)
        let observation = second.activity.observe { event in
            if case .cacheEntryDropped = event { dropped.withLock { $0 += 1 } }
        }
        server.losesChunks = true
        #expect(try await second.send(request).source == .network)
        await second.cache?.flush()
        #expect(dropped.withLock { $0 } == 0)
        #expect(server.bytes == stored)
        withExtendedLifetime(observation) {}
        await first.close()
        await second.close()
    }

    // MARK: People

    @Test func `lists, counts and totals are those of the server, and parts of files are not kept`() async throws {
        let engine = engine(stub())
        for page in 1...3 { _ = try await engine.send(Self.page(page)) }
        let cache = try #require(engine.cache)
        await cache.flush()
        #expect(try cache.totals().entries == 3)
        #expect(try cache.count(.tag("cities")) == 3)
        let listings = try cache.list(by: .url, limit: 2)
        #expect(listings.map(\.url) == ["http://h/cities?page=1", "http://h/cities?page=2"])
        #expect(try cache.list(by: .url, after: CacheCursor(after: listings[1], by: .url), limit: 2).count == 1)
        let digits = String(listings[0].key.description.prefix(16))
        #expect(try cache.list(beginning: digits).map(\.url) == [listings[0].url])
        let form = try #require(try cache.canonicalForm(of: listings[0].key))
        #expect(try cache.findOnDisk(listings[0].key, request: Array(form.utf8))?.body == Data("body".utf8))
        #expect(try await cache.purge { $0.url.hasSuffix("2") } == 1)
        #expect(try cache.keyIDs().isEmpty && cache.sealedEntryCounts().isEmpty)
        await #expect(throws: CacheError.self) { try await cache.evict(to: 1) }
        #expect(!cache.mayHavePartialBodies)
        #expect(try cache.downloads().isEmpty)
        await engine.close()
    }

    // MARK: Failures

    @Test func `while the server is out of reach, every lookup is a miss, and one event says so`() async throws {
        let engine = engine(stub())
        let events = Guarded<[String]>([])
        let observation = engine.activity.observe { event in
            if case .cacheFailed(let reason) = event { events.withLock { $0.append(reason) } }
        }
        server.failure = CacheError(.unreachable, "memory cannot be reached")
        for page in 1...5 { #expect(try await engine.send(Self.page(page)).source == .network) }
        await engine.cache?.flush()
        #expect(events.withLock { $0 } == ["memory cannot be reached: requests continue without the cache"])
        server.failure = nil
        // A lookup or a write starts the probe, and does not wait for it.
        while server.bytes.isEmpty {
            _ = try await engine.send(request)
            await engine.cache?.flush()
        }
        #expect(try await engine.send(request).source == .cache)
        #expect(events.withLock { $0.count } == 1)
        withExtendedLifetime(observation) {}
        await engine.close()
    }

    @Test func `memory drops what the server does not have when it answers again`() async throws {
        let engine = engine(stub(), memory: 1 << 20)
        server.failure = CacheError(.unreachable, "memory cannot be reached")
        #expect(try await engine.send(request).source == .network)
        await engine.cache?.flush()
        #expect(try await engine.send(request).source == .cache)
        server.failure = nil
        var page = 2
        while server.bytes.isEmpty {
            _ = try await engine.send(Self.page(page))
            await engine.cache?.flush()
            page += 1
        }
        engine.cache?.applyOtherProcessesChanges(isDue: true)
        #expect(try await engine.send(request).source == .network)
        await engine.close()
    }

    @Test func `memory drops what a server that answers has refused`() async throws {
        let engine = engine(stub(), memory: 1 << 20)
        server.failure = CacheError(.other, "no memory left")
        for _ in 0..<2 {
            #expect(try await engine.send(request).source == .network)
            await engine.cache?.flush()
        }
        server.failure = nil
        _ = try await engine.send(request)
        await engine.cache?.flush()
        #expect(try await engine.send(request).source == .cache)
        await engine.close()
    }

    @Test func `a server that does not answer delays one request by 50 milliseconds, and later ones not at all`()
        async throws
    {
        let engine = engine(stub("no-store")) { $0.draw = { 0.999 } }
        server.isStalled = true
        async let response = engine.send(request)
        #expect(await clock.nextSleep() == RemoteCacheStorage.lookupLimit)
        clock.advance(by: RemoteCacheStorage.lookupLimit)
        #expect(try await response.source == .network)
        let calls = server.calls
        #expect(try await engine.send(request).source == .network)
        // A probe may have begun.
        #expect(server.calls <= calls + 1)
        server.isStalled = false
        await engine.close()
    }

    @Test func `an error of the storage is an event, and opens no circuit`() async throws {
        let engine = engine(stub())
        server.failure = CacheError(.cannotSeal, "no memory left")
        #expect(try await engine.send(request).source == .network)
        await engine.cache?.flush()
        server.failure = nil
        _ = try await engine.send(request)
        await engine.cache?.flush()
        #expect(try await engine.send(request).source == .cache)
        await engine.close()
    }

    @Test func `an engine whose storage cannot be opened has no cache, and says why`() async throws {
        let failure = CacheError(.cannotOpen, "no such server")
        let engine = engine(stub()) { configuration in
            configuration.cache = .server("none") { () throws(CacheError) in throw failure }
        }
        #expect(engine.cache == nil)
        #expect(engine.cacheFailure == failure)
        #expect(try await engine.send(request).source == .network)
        await engine.close()
    }
}
