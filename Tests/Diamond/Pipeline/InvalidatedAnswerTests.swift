import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// RFC 9111 section 4.4: a response from before a change must not be served after the change.
@Suite("A response invalidated while under way", .limit(minutes: 5)) struct InvalidatedAnswerTests {
    typealias Change = @Sendable (Engine, RequestKey) async throws -> Void

    private let server = ManualServer()
    private let temporary = TemporaryStore()
    private static let url = "http://h/cities"

    private var engine: Engine { temporary.engine(server.transport) }

    private static var request: Request {
        var request = Request(url)
        (request.tags, request.identity) = (["cities"], "anna")
        return request
    }

    private func flying(_ count: Int) async { await untilTrue { server.flying.count == count } }

    private static func invalidating(_ selection: CacheSelection) -> Change {
        { engine, _ in try await engine.cache?.invalidate(selection) }
    }

    static let changes: [(String, Change)] = [
        ("its tag", invalidating(.tag("cities"))), ("its URL", invalidating(.url(url))),
        ("a prefix", invalidating(.url(prefix: "http://h/"))), ("its host", invalidating(.host("h"))),
        ("its identity", invalidating(.identity("anna"))), ("all", invalidating(.all)),
        ("its key", { engine, key in try await engine.cache?.invalidate(.key(key)) }),
        ("its request", { engine, _ in try await engine.invalidate(request) }),
        ("its key, erased", { engine, key in try await engine.cache?.purge(.key(key)) }),
        ("all, erased", { engine, _ in try await engine.cache?.purge() }),
    ]

    @Test(arguments: changes)
    func `a response invalidated under way is neither served later nor shared with later callers`(
        name: String, change: Change
    ) async throws {
        let engine = engine
        let first = engine.start(Self.request)
        await flying(1)
        try await change(engine, try await engine.key(of: Self.request))
        let second = engine.start(Self.request)
        await flying(2)
        // In the order of their arrival.
        server.land(Self.url)
        #expect(try await first.response.source == .network)
        #expect(server.flying == [Self.url])
        server.land(Self.url)
        #expect(try await second.response.source == .network)
        #expect(try await engine.send(Self.request).source == .cache)
    }

    @Test(arguments: [false, true])
    func `a response requested before an invalidation does not replace a response requested after it`(
        isConfirmation: Bool
    ) async throws {
        let (answers, gates) = (Guarded(0), [Gate(), Gate(), Gate()])
        let transport = StubTransport { request throws(TransportError) in
            let number = answers.withLock { count in
                defer { count += 1 }
                return count
            }
            if gates.indices.contains(number), number > 0 || !isConfirmation { await gates[number].wait() }
            var headers: HTTPFields = [.cacheControl: "max-age=3600"]
            guard !isConfirmation || number != 1 else { return .stub(status: 304, headers: headers) }
            headers[.eTag] = "\"\(number)\""
            return .stub(headers: headers, body: "\(number)")
        }
        var configuration = Engine.Configuration(testing: transport, store: temporary)
        configuration.width = 64
        let engine = Engine(configuration)
        var asked = Self.request
        if isConfirmation {
            _ = try await engine.send(Self.request)
            asked.cache = .revalidate
        }
        let begin = answers.withLock { $0 }
        let first = engine.start(asked)
        await untilTrue { answers.withLock { $0 } == begin + 1 }
        try await engine.cache?.invalidate(.tag("cities"))
        let second = engine.start(Self.request)
        await untilTrue { answers.withLock { $0 } == begin + 2 }
        gates[begin + 1].open()
        let newest = try await second.response.text
        gates[begin].open()
        _ = try await first.response
        var onlyStored = Self.request
        onlyStored.cache = .cacheOnly
        #expect(try await engine.send(onlyStored).text == newest)
        await engine.cache?.flush()
        let stored = try await Engine(.init(testing: transport, store: temporary)).send(Self.request)
        #expect(stored.text == newest && stored.source == .cache)
    }

    @Test func `a response is not stored where its identity was forgotten before a redirect was followed`() async throws
    {
        let gate = Gate()
        let transport = StubTransport { request throws(TransportError) in
            guard request.url.hasSuffix("/cities") else { return .stub(headers: [.cacheControl: "max-age=3600"]) }
            await gate.wait()
            return .stub(status: 302, headers: [.location: "http://h/towns"])
        }
        let engine = Engine(.init(testing: transport, store: temporary))
        let connection = engine.start(Self.request)
        await untilTrue { transport.requests.count == 1 }
        try await engine.forget(identity: "anna")
        gate.open()
        _ = try await connection.response
        await engine.cache?.flush()
        #expect(try engine.cache?.count(.all) == 0)
    }

    /// Ways to erase an entry.
    static let erasures: [(String, Change)] = [
        ("its key", { engine, key in try await engine.cache?.purge(.key(key)) }),
        ("its tag", { engine, _ in try await engine.cache?.purge(.tag("cities")) }),
        ("its request", { engine, _ in try await engine.purge(request) }),
        ("its identity", { engine, _ in try await engine.forget(identity: "anna") }),
        ("all", { engine, _ in try await engine.cache?.purge() }),
    ]

    @Test(arguments: erasures)
    func `a response whose entry is erased under way is not stored`(name: String, erase: Change) async throws {
        let engine = engine
        let connection = engine.start(Self.request)
        await flying(1)
        try await erase(engine, try await engine.key(of: Self.request))
        server.landAll()
        #expect(try await connection.response.source == .network)
        await engine.cache?.flush()
        #expect(try engine.cache?.count(.all) == 0)
    }

    /// An entry that was found before it was erased waits for a permit with its validators.
    @Test(arguments: erasures)
    func `an entry erased before validation is requested without validators`(name: String, erase: Change) async throws {
        let transport = StubTransport { request throws(TransportError) in
            let isConditional = request.headers[.ifNoneMatch] != nil
            let headers: HTTPFields = [.cacheControl: "max-age=3600", .eTag: "\"a\""]
            return isConditional ? .stub(status: 304, headers: headers) : .stub(headers: headers)
        }
        let engine = temporary.engine(transport)
        _ = try await engine.send(Self.request)
        engine.lanes.pauseAll()
        var asked = Self.request
        asked.cache = .revalidate
        let connection = engine.start(asked)
        await untilTrue { engine.lanes.waiting == 1 }
        try await erase(engine, try await engine.key(of: Self.request))
        engine.lanes.resumeAll()
        #expect(try await connection.response.source == .network)
        #expect(transport.requests.map { $0.headers[.ifNoneMatch] } == [nil, nil])
    }

    @Test func `an entry invalidated before its validation is sent is fresh after the 304`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            let headers: HTTPFields = [.cacheControl: "max-age=3600", .eTag: "\"a\""]
            return .stub(status: request.headers[.ifNoneMatch] == nil ? 200 : 304, headers: headers)
        }
        let engine = temporary.engine(transport)
        _ = try await engine.send(Self.request)
        engine.lanes.pauseAll()
        var asked = Self.request
        asked.cache = .revalidate
        let connection = engine.start(asked)
        await untilTrue { engine.lanes.waiting == 1 }
        try await engine.cache?.invalidate(.tag("cities"))
        engine.lanes.resumeAll()
        #expect(try await connection.response.source == .revalidated)
        await engine.cache?.flush()
        #expect(try await engine.send(Self.request).source == .cache)
    }

    /// An entry that is erased between the request and its confirmation is not restored.
    @Test(arguments: erasures)
    func `an entry erased before its confirmation stays erased`(name: String, erase: Change) async throws {
        let (gate, answers) = (Gate(), Guarded(0))
        let transport = StubTransport { request throws(TransportError) in
            answers.withLock { $0 += 1 }
            let headers: HTTPFields = [.cacheControl: "max-age=3600", .eTag: "\"a\""]
            guard request.headers[.ifNoneMatch] != nil else { return .stub(headers: headers) }
            await gate.wait()
            return .stub(status: 304, headers: headers)
        }
        let engine = temporary.engine(transport)
        _ = try await engine.send(Self.request)
        var asked = Self.request
        asked.cache = .revalidate
        let connection = engine.start(asked)
        await untilTrue { answers.withLock { $0 } == 2 }
        try await erase(engine, try await engine.key(of: Self.request))
        gate.open()
        #expect(try await connection.response.source == .revalidated)
        await engine.cache?.flush()
        #expect(try engine.cache?.count(.all) == 0)
        #expect(try await engine.send(Self.request).source == .network)
    }

    @Test(arguments: changes)
    func `a response invalidated under way is requested again by the next caller`(name: String, change: Change)
        async throws
    {
        let engine = engine
        let first = engine.start(Self.request)
        await flying(1)
        try await change(engine, try await engine.key(of: Self.request))
        server.land(Self.url)
        #expect(try await first.response.source == .network)
        let second = engine.start(Self.request)
        await flying(1)
        server.land(Self.url)
        #expect(try await second.response.source == .network)
    }

    @Test(arguments: [
        CacheSelection.tag("towns"), .url("http://h/towns"), .url(prefix: "http://h/towns"), .host("g"),
        .identity("bert"), .stored(before: .max), .expired(at: .max),
    ])
    func `a response under way is not affected by an invalidation that selects other entries`(selection: CacheSelection)
        async throws
    {
        let transport = server.transport
        let engine = temporary.engine(transport)
        let first = engine.start(Self.request)
        await flying(1)
        try await engine.cache?.invalidate(selection)
        let second = engine.start(Self.request)
        server.land(Self.url)
        _ = try await (first.response, second.response)
        #expect(try await engine.send(Self.request).source == .cache)
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [HTTPRequest.Method.post, .delete])
    func `a response is requested again after an unsafe method invalidated it`(method: HTTPRequest.Method) async throws
    {
        let engine = engine
        let first = engine.start(Self.request)
        await flying(1)
        let change = engine.start(Request(Self.url, method: method))
        await flying(2)
        // The second request is the change.
        server.land(Self.url, number: 1)
        _ = try await change.response
        server.landAll()
        #expect(try await first.response.source == .network)
        let second = engine.start(Self.request)
        await flying(1)
        server.landAll()
        #expect(try await second.response.source == .network)
    }

    @Test(arguments: [false, true])
    func `a confirmed entry stays stored after 1,100 other invalidations, if not erased`(isErased: Bool) async throws {
        let checkpoint = Checkpoint()
        let transport = StubTransport { request throws(TransportError) in
            let headers: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
            guard request.headers[.ifNoneMatch] != nil else { return .stub(headers: headers) }
            await checkpoint.pass()
            return .stub(status: 304, headers: headers)
        }
        let engine = temporary.engine(transport)
        _ = try await engine.send(Self.request)
        var again = Self.request
        again.cache = .revalidate
        let confirmation = engine.start(again)
        await checkpoint.reached()
        if isErased { try await engine.cache?.purge(.tag("cities")) }
        for number in 0..<1100 { engine.cache?.markStale(urls: ["http://h/other/\(number)"]) }
        checkpoint.open()
        _ = try await confirmation.response
        await engine.cache?.flush()
        #expect(try engine.cache?.count(.all) == (isErased ? 0 : 1))
    }

    @Test func `a response replaces the stored response after 1,100 other invalidations`() async throws {
        let (answers, checkpoint) = (Guarded(0), Checkpoint())
        let transport = StubTransport { request throws(TransportError) in
            let number = answers.withLock { count in
                defer { count += 1 }
                return count
            }
            if number == 1 {
                await checkpoint.pass()
            }
            return .stub(headers: [.cacheControl: "max-age=3600"], body: "\(number)")
        }
        let engine = temporary.engine(transport)
        _ = try await engine.send(Self.request)
        var again = Self.request
        again.cache = .reload
        let reload = engine.start(again)
        await checkpoint.reached()
        for number in 0..<1100 { engine.cache?.markStale(urls: ["http://h/other/\(number)"]) }
        checkpoint.open()
        #expect(try await reload.response.text == "1")
        #expect(try await engine.send(Self.request).text != "0")
    }

    @Test func `an entry invalidated during its validation stays stale after the 304`() async throws {
        let checkpoint = Checkpoint()
        let transport = StubTransport { request throws(TransportError) in
            guard request.headers[.ifNoneMatch] != nil else {
                return .stub(headers: [.cacheControl: "max-age=60", .eTag: "\"1\""], body: "one")
            }
            await checkpoint.pass()
            return .stub(status: 304, headers: [.cacheControl: "max-age=60", .eTag: "\"1\""])
        }
        let engine = temporary.engine(transport)
        _ = try await engine.send(Self.request)
        var again = Self.request
        again.cache = .revalidate
        let confirmation = engine.start(again)
        await checkpoint.reached()
        try await engine.cache?.invalidate(.tag("cities"))
        checkpoint.open()
        #expect(try await confirmation.response.source == .revalidated)
        #expect(try await engine.send(Self.request).source == .revalidated)
        #expect(try await engine.send(Self.request).source == .cache)
        #expect(transport.requests.count == 3)
    }
}
