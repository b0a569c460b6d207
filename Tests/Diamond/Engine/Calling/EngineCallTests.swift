import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

private struct Person: Codable, Hashable, Sendable { var fullName: String }

private struct GetPerson: Endpoint {
    typealias Output = Person
    var id: Int
    var request: Request { Request("people/\(segment: id)") }
    var sample: Response? { Response(text: #"{"full_name": "Ada"}"#) }
}

private struct AddPerson: Endpoint {
    typealias Output = Nothing
    var ratio: Double
    var request: Request { get throws { Request("people", method: .post, body: try .json(encoding: ["r": ratio])) } }
    var sample: Response? { Response(status: .conflict, headers: [.retryAfter: "1"], text: "taken") }
}

private struct Search: Endpoint {
    typealias Output = [Person]
    var q: String
    var limit: Int?
    var request: Request { get throws { Request("search", parameters: try Parameters(encoding: self)) } }
}

@Suite("Calls of an API", .limit(minutes: 5)) struct EngineCallTests {
    private let clock = TestClock()

    private func engine(_ transport: StubTransport, store: TemporaryStore? = nil) -> Engine {
        var configuration = Engine.Configuration(testing: transport, clock: clock, store: store)
        configuration.baseURL = "https://api.test/v1/"
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        configuration.decoder = decoder
        return Engine(configuration)
    }

    // MARK: Requests

    @Test func `a call encodes its body and its parameters`() async throws {
        let transport = StubTransport(body: "[]")
        let engine = engine(transport)
        _ = try await engine.send(AddPerson(ratio: 0.5))
        _ = try await engine.send(Search(q: "a b"))
        _ = try await engine.send(Search(q: "a", limit: 2))
        guard case .bytes(let body) = transport.requests[0].body else { return _ = Issue.record("no body") }
        #expect(String(decoding: body, as: UTF8.self) == #"{"r":0.5}"#)
        #expect(
            transport.requests.dropFirst().map(\.url) == [
                "https://api.test/v1/search?q=a%20b", "https://api.test/v1/search?limit=2&q=a",
            ])
    }

    @Test func `a call that cannot make its request fails with the reason, and sends nothing`() async {
        let transport = StubTransport()
        let engine = engine(transport)
        let call = AddPerson(ratio: .nan)
        let sent = await #expect(throws: ConnectionError.self) { try await engine.send(call) }
        let awaited = await #expect(throws: ConnectionError.self) { try await engine.start(call).output }
        let batched = await engine.send([call, AddPerson(ratio: 1)])
        for error in [sent, awaited] {
            #expect(error?.code == .badRequest && error?.cause is EncodingError)
        }
        #expect(batched.map { (try? $0.get()) == nil } == [true, false])
        #expect(transport.requests.count == 1)
    }

    // MARK: Responses

    @Test func `a response has the value, and the status, headers, source, age and metrics`() async throws {
        let transport = StubTransport { [clock] _ throws(TransportError) in
            clock.advance(by: .milliseconds(250))
            var response = TransportResponse.stub(
                status: 203, headers: [.cacheControl: "max-age=60"], body: #"{"full_name": "Ada"}"#)
            response.isConnectionReused = true
            return response
        }
        let engine = engine(transport, store: TemporaryStore())
        let fresh = try await engine.response(to: GetPerson(id: 7))
        #expect(fresh.value == Person(fullName: "Ada") && fresh.status.code == 203 && fresh.source == .network)
        #expect(fresh.headers[.cacheControl] == "max-age=60" && fresh.age == nil)
        let metrics = try #require(fresh.metrics)
        #expect(metrics.timeToFirstByte == .milliseconds(250) && metrics.duration == .milliseconds(250))
        #expect(metrics.received == 20 && metrics.sent == 0 && metrics.attempts == 1)
        #expect(metrics.isConnectionReused == true)
        clock.advance(by: .seconds(12))
        let stored = try await engine.response(to: GetPerson(id: 7))
        #expect(stored.value == fresh.value && stored.source == .cache && stored.age == .seconds(12))
        #expect(stored.metrics == nil)
    }

    @Test func `metrics count attempts, with their delays`() async throws {
        let count = Counter()
        let transport = StubTransport { [clock] request throws(TransportError) in
            clock.advance(by: .milliseconds(100))
            return .stub(status: count.next() == 1 ? 503 : 200, body: "ok")
        }
        var configuration = Engine.Configuration(testing: transport, clock: clock)
        configuration.retry = .default
        configuration.draw = { 0 }
        let request = Request("http://h/", method: .put, body: .bytes(Data("four".utf8)))
        let metrics = try #require(try await Engine(configuration).send(request).metrics)
        #expect(metrics.attempts == 2 && metrics.timeToFirstByte == .milliseconds(100))
        #expect(metrics.duration == .milliseconds(200) && metrics.sent == 4 && metrics.received == 2)
        #expect(metrics.isConnectionReused == nil)
    }

    @Test func `metrics of a confirmed response are those of its confirmation`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            let isConfirmation = request.headers[.ifNoneMatch] != nil
            return .stub(
                status: isConfirmation ? 304 : 200, headers: [.eTag: "\"1\"", .cacheControl: "no-cache"],
                body: isConfirmation ? "" : "body")
        }
        let engine = engine(transport, store: TemporaryStore())
        #expect(try await engine.send(Request("a")).metrics?.received == 4)
        let confirmed = try await engine.send(Request("a"))
        #expect(confirmed.source == .revalidated && confirmed.metrics?.received == 0)
    }

    @Test func `metrics of a real server say whether the connection was reused`() async throws {
        let engine = Engine(Engine.Configuration(store: nil))
        let request = Request("\(try await SampleServer.shared.base)/cities", parameters: ["country": "DE"])
        let first = try await engine.send(request)
        let second = try await engine.send(request)
        #if Curl && canImport(CDiamondCurl)
        #expect(first.metrics?.isConnectionReused == false && second.metrics?.isConnectionReused == true)
        #endif
        #expect(first.metrics.map { $0.received } == Int64(first.body.count))
        #expect(second.metrics.map { $0.timeToFirstByte > .zero && $0.duration >= $0.timeToFirstByte } == true)
        await engine.close()
    }

    @Test func `metrics do not count for the equality of responses`() async throws {
        let engine = engine(StubTransport())
        let response = try await engine.send(Request("a"))
        let same = Response(
            status: response.status, headers: response.headers, body: response.body, url: response.url)
        #expect(response.metrics != nil && same.metrics == nil && response.status == same.status)
        var other = response
        other.metrics = nil
        #expect(other == response && other.hashValue == response.hashValue)
    }

    @Test(arguments: [("12", Duration.seconds(12)), ("", nil), ("-1", nil), ("x", nil)] as [(String, Duration?)])
    func `an Age field is parsed as RFC 9111 section 5.1 defines it`(field: String, age: Duration?) {
        #expect(Response(headers: [.age: field], text: "").age == age)
    }

    // MARK: The engine's decoder

    @Test func `the engine's decoder decodes its responses, errors, lines and events`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            let isEvents = request.url.hasSuffix("events")
            return .stub(
                status: request.url.hasSuffix("error") ? 409 : 200,
                headers: [
                    .contentType: isEvents ? "text/event-stream" : "application/json", .cacheControl: "max-age=60",
                ],
                body: (isEvents ? "data: " : "") + #"{"full_name":"Ada"}"# + (isEvents ? "\n\n" : ""))
        }
        let (ada, engine) = (Person(fullName: "Ada"), engine(transport, store: TemporaryStore()))
        for _ in 1...2 { #expect(try await engine.send(Request("a")).decode(Person.self) == ada) }
        #expect(try await engine.start(Request("b")).response.decode(Person.self) == ada)
        let streamed = try await engine.stream(Request("c"))
        for try await person in streamed.values(of: Person.self) { #expect(person == ada) }
        for try await person in engine.events(Request("events")).decoded(as: Person.self) {
            #expect(person == ada)
            break
        }
        let error = await #expect(throws: ConnectionError.self) {
            try await engine.send(Request("error").decoding(Person.self))
        }
        #expect(try error?.decode(Person.self) == ada)
        let response = try await engine.send(Request("a"))
        #expect(throws: DecodingError.self) { try response.decode(Person.self, using: JSONDecoder()) }
        #expect(throws: DecodingError.self) { try Response(text: response.text).decode(Person.self) }
    }

    @Test func `the engine's decoder decodes a response that an interceptor has replaced`() async throws {
        struct Replacing: Interceptor {
            func transform(_ response: inout Response) async throws {
                response = Response(text: #"{"full_name":"Eve"}"#)
            }
        }
        var configuration = Engine.Configuration(testing: StubTransport())
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        configuration.decoder = decoder
        configuration.interceptors = [Replacing()]
        let response = try await Engine(configuration).send(Request("http://h/"))
        #expect(try response.decode(Person.self) == Person(fullName: "Eve"))
    }

    @Test func `the engine's decoder does not decode problems, which are always JSON`() async throws {
        let transport = StubTransport(
            status: 409, headers: [.contentType: "application/problem+json"],
            body: #"{"detail":"sold out","items_left":0}"#)
        var configuration = Engine.Configuration(testing: transport)
        configuration.decoder = PropertyListDecoder()
        let problem = try await Engine(configuration).send(Request("http://h/")).problem
        #expect(problem?.detail == "sold out" && problem?.extensions["items_left"] == 0)
    }

    // MARK: Samples

    @Test func `a stub answers calls with their samples, and everything else with 404`() async throws {
        let base = "https://api.test/v1/"
        let transport = try StubTransport(samplesOf: GetPerson(id: 7), AddPerson(ratio: 1), baseURL: base)
        let engine = engine(transport)
        #expect(try await engine.send(GetPerson(id: 7)) == Person(fullName: "Ada"))
        for (call, status) in [(GetPerson(id: 8).request, 404), (try AddPerson(ratio: 2).request, 409)] {
            let response = try await engine.send(call)
            #expect(response.status.code == status)
        }
        #expect(try await engine.send(AddPerson(ratio: 1).request).headers[.retryAfter] == "1")
        #expect(try await engine.send(Request("people/7", method: .delete)).text.contains("samplesOf"))
    }

    @Test func `a stub refuses calls without a sample, or without a request`() {
        let error = #expect(throws: RequestError.self) { try StubTransport(samplesOf: Search(q: "a")) }
        #expect(error?.message.contains("Search has no sample") == true)
        #expect(throws: EncodingError.self) { try StubTransport(samplesOf: AddPerson(ratio: .nan)) }
    }
}

private final class Counter: Sendable {
    private let count = Guarded(0)
    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
