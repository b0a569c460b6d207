import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// RFC 9111 section 4.4: an answer from before the change must not be served as one from after it.
@Suite(.timeLimit(.minutes(5))) struct `An answer that was on its way when it was made stale` {
    typealias Change = @Sendable (Engine, RequestKey) async throws -> Void

    private let airport = Airport()
    private let temporary = TemporaryStore()
    private static let url = "http://h/cities"

    private var engine: Engine { temporary.engine(airport.transport) }

    private static var request: Request {
        var request = Request(url)
        (request.tags, request.identity) = (["cities"], "anna")
        return request
    }

    private func flying(_ count: Int) async { await untilTrue { airport.flying.count == count } }

    private static func invalidating(_ selection: CacheSelection) -> Change {
        { engine, _ in try await engine.cache?.invalidate(selection) }
    }

    static let changes: [(String, Change)] = [
        ("its tag", invalidating(.tag("cities"))), ("its URL", invalidating(.url(url))),
        ("a prefix", invalidating(.url(prefix: "http://h/"))), ("its host", invalidating(.host("h"))),
        ("its identity", invalidating(.identity("anna"))), ("all", invalidating(.all)),
        ("its key", { engine, key in try await engine.cache?.invalidate(.key(key)) }),
        ("its key, erased", { engine, key in try await engine.cache?.purge(key) }),
        ("all, erased", { engine, _ in try await engine.cache?.purge() }),
    ]

    @Test(arguments: changes)
    func `is not served later, nor shared with those who ask after that`(name: String, change: Change) async throws {
        let engine = engine
        let first = engine.enqueue(Self.request)
        await flying(1)
        try await change(engine, try await engine.key(of: Self.request))
        let second = engine.enqueue(Self.request)
        await flying(2)
        // In the order in which they came.
        airport.land(Self.url)
        #expect(try await first.response.source == .network)
        #expect(airport.flying == [Self.url])
        airport.land(Self.url)
        #expect(try await second.response.source == .network)
        #expect(try await engine.send(Self.request).source == .cache)
    }

    @Test(arguments: changes)
    func `is asked for again where nobody has asked meanwhile`(name: String, change: Change) async throws {
        let engine = engine
        let first = engine.enqueue(Self.request)
        await flying(1)
        try await change(engine, try await engine.key(of: Self.request))
        airport.land(Self.url)
        #expect(try await first.response.source == .network)
        let second = engine.enqueue(Self.request)
        await flying(1)
        airport.land(Self.url)
        #expect(try await second.response.source == .network)
    }

    @Test(arguments: [
        CacheSelection.tag("towns"), .url("http://h/towns"), .url(prefix: "http://h/towns"), .host("g"),
        .identity("bert"), .stored(before: .max), .expired(at: .max),
    ])
    func `is another's matter where that was meant`(selection: CacheSelection) async throws {
        let transport = airport.transport
        let engine = temporary.engine(transport)
        let first = engine.enqueue(Self.request)
        await flying(1)
        try await engine.cache?.invalidate(selection)
        let second = engine.enqueue(Self.request)
        airport.land(Self.url)
        _ = try await (first.response, second.response)
        #expect(try await engine.send(Self.request).source == .cache)
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [HTTPRequest.Method.post, .delete])
    func `by an unsafe method is asked for again`(method: HTTPRequest.Method) async throws {
        let engine = engine
        let first = engine.enqueue(Self.request)
        await flying(1)
        let change = engine.enqueue(Request(Self.url, method: method))
        await flying(2)
        // The second is the change.
        airport.land(Self.url, number: 1)
        _ = try await change.response
        airport.landAll()
        #expect(try await first.response.source == .network)
        let second = engine.enqueue(Self.request)
        await flying(1)
        airport.landAll()
        #expect(try await second.response.source == .network)
    }

    @Test func `and confirms what is stored confirms nothing`() async throws {
        let (isAsked, gate) = (Gate(), Gate())
        let transport = StubTransport { request throws(TransportError) in
            guard request.headers[.ifNoneMatch] != nil else {
                return .stub(headers: [.cacheControl: "max-age=60", .eTag: "\"1\""], body: "one")
            }
            isAsked.open()
            await gate.wait()
            return .stub(status: 304, headers: [.cacheControl: "max-age=60", .eTag: "\"1\""])
        }
        let engine = temporary.engine(transport)
        _ = try await engine.send(Self.request)
        var again = Self.request
        again.cache = .revalidate
        let confirmation = engine.enqueue(again)
        await isAsked.wait()
        try await engine.cache?.invalidate(.tag("cities"))
        gate.open()
        #expect(try await confirmation.response.source == .revalidated)
        #expect(try await engine.send(Self.request).source == .revalidated)
        #expect(try await engine.send(Self.request).source == .cache)
        #expect(transport.requests.count == 3)
    }
}
