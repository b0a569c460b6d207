import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

private struct City: Codable, Hashable, Sendable {
    var name: String
    var population: Int
}

private struct Cities: Decodable, Sendable { var items: [City] }

private struct Search: Endpoint {
    typealias Output = Cities
    var country: String
    var minPopulation: Int?
    var base: String

    var request: Request {
        var request = Request("\(base)/cities", parameters: ["country": country, "minPopulation": minPopulation])
        request.cache = .automatic(maxAge: .seconds(86_400))
        return request
    }
}

private struct Settings: Endpoint {
    typealias Output = [String: Int]
    var decoder: (any ResponseDecoder)? { PropertyListDecoder() }
    var request: Request { Request("http://h/settings.plist") }
}

@Suite("A typed call", .limit(minutes: 5)) struct EngineEndpointTests {
    private let temporary = TemporaryStore()

    private func engine(status: Int = 200, _ body: String) -> Engine {
        temporary.engine(StubTransport(status: status, body: body))
    }

    @Test func `is answered by a real server, and from the cache in another process`() async throws {
        let engine = Engine(Engine.Configuration(store: temporary.store))
        let search = Search(country: "DE", minPopulation: 1_000_000, base: try await SampleServer.shared.base)
        #expect(try await engine.send(search).items.map(\.name).contains("Munich"))
        let copy = try JSONDecoder().decode(Search.self, from: try JSONEncoder().encode(search))
        #expect(copy == search)
        #expect(try await engine.send(copy.request).source == .cache)
        #expect(try await engine.send(copy.request.decoding(Cities.self)).items.count == 4)
        await engine.close()
    }

    @Test func `can be made of any request, and is encoded as that request`() async throws {
        let call = Request("http://h/", parameters: ["a": 1]).decoding([Int].self)
        #expect(try await engine("[1, 2]").send(call) == [1, 2])
        let copy = try JSONDecoder().decode(DecodedRequest<[Int]>.self, from: try JSONEncoder().encode(call))
        #expect(copy == call)
    }

    @Test func `uses its own decoder, or the engine's`() async throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        let list = String(decoding: try encoder.encode(["a": 1]), as: UTF8.self)
        #expect(try await engine(list).send(Settings()) == ["a": 1])
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = StubTransport(body: #"{"full_name": "Ada"}"#)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        configuration.decoder = decoder
        let names = try await Engine(configuration).send(Request("http://h/").decoding(Snake.self))
        #expect(names.fullName == "Ada")
    }

    private struct Snake: Decodable, Sendable { var fullName: String }

    @Test func `returns the body unchanged as Data, and no body as Nothing`() async throws {
        #expect(try await engine("raw").send(Request("http://h/").decoding(Data.self)) == Data("raw".utf8))
        #expect(try await engine(status: 204, "").send(Request("http://h/").decoding(Nothing.self)) == Nothing())
    }

    @Test(arguments: [("", nil), (" ", nil), ("null", nil), ("7", 7)] as [(String, Int?)])
    func `a typed call with an optional output returns nil for an empty body`(body: String, value: Int?) async throws {
        #expect(try await engine(body).send(Request("http://h/").decoding(Int?.self)) == value)
        #expect(try Response(status: .ok, body: Data(body.utf8)).decode(Int?.self) == value)
    }

    @Test(arguments: [("text/html; charset=utf-8", true), ("application/problem+json", false), (nil, false)])
    func `names the content type of a body that is not JSON`(type: String?, isNamed: Bool) async throws {
        let transport = StubTransport { _ throws(TransportError) in
            .stub(headers: type.map { [.contentType: $0] } ?? [:], body: "<html>")
        }
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await temporary.engine(transport).send(Request("http://h/").decoding(Cities.self))
        }
        #expect(error?.code == .undecodable)
        #expect(error?.message.contains("its content type is \(type ?? "")") == isNamed, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        (#"{"items": [{"name": "a", "population": 1}, {"name": null, "population": 2}]}"#, "items[1].name: "),
        (#"{"items": [{"name": "a"}]}"#, "items[0].population: is missing"),
        (#"{"items": [{"name": "a", "population": "many"}]}"#, "items[0].population: "),
        (#"{"items": 1}"#, "items: "), ("<html>", "the whole body: "), ("", "the whole body: "),
    ]) func `names the place of a decoding error, and the error has the body`(body: String, place: String)
        async throws
    {
        let call = Request("http://h/cities?token=s3cret").decoding(Cities.self)
        let error = await #expect(throws: ConnectionError.self) { _ = try await engine(body).send(call) }
        #expect(error?.code == .undecodable)
        #expect(error?.message.contains("is no Cities: \(place)") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("s3cret") == false)
        #expect(error?.response?.text == body)
        #expect(error?.cause is DecodingError)
    }

    @Test func `a typed call with optional Data or Nothing returns nil for an empty body`() async throws {
        for body in ["", " "] {
            #expect(try await engine(body).send(Request("http://h/").decoding(Data?.self)) == nil)
            #expect(try await engine(body).send(Request("http://h/").decoding(Nothing?.self)) == nil)
            #expect(try await engine(body).send(Request("http://h/").decoding(Data.self)) == Data(body.utf8))
        }
        #expect(try await engine("1").send(Request("http://h/").decoding(Data?.self)) == Data("1".utf8))
    }

    @Test func `does not reveal values of a body that cannot be decoded`() async throws {
        enum Kind: String, Decodable { case known }
        let body = #"[{"kind": "s3cret"}]"#
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await engine(body).send(Request("http://h/").decoding([[String: Kind]].self))
        }
        #expect(error?.message.contains("[0].kind: is not valid") == true, "\(error?.message ?? "")")
        #expect(error.map { "\($0)".contains("s3cret") } == false)
        #expect(error?.cause is DecodingError && error?.response?.text == body)
    }

    @Test(arguments: [304, 404, 500]) func `fails for a status other than 2xx, with the response`(
        status: Int
    )
        async
    {
        let call = Request("http://h/").decoding([Int].self)
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await engine(status: status, "[1]").send(call)
        }
        #expect(error?.code == .badStatus)
        #expect(error?.response?.status.code == status)
        #expect(error?.response?.text == "[1]")
    }

    @Test func `stores no response that it cannot decode, and leaves the stored one`() async throws {
        let body = Guarded("[1]")
        let transport = StubTransport { _ throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=3600"], body: body.withLock { $0 })
        }
        let engine = temporary.engine(transport)
        var call = Request("http://h/").decoding([Int].self)
        #expect(try await engine.send(call) == [1])
        body.withLock { $0 = "<html>" }
        call.request.cache = .reload
        let error = await #expect(throws: ConnectionError.self) { _ = try await engine.send(call) }
        #expect(error?.code == .undecodable && error?.response?.text == "<html>")
        call.request.cache = .automatic
        #expect(try await engine.send(call) == [1])
        call.request.url = "http://h/other"
        await #expect(throws: ConnectionError.self) { _ = try await engine.send(call) }
        #expect(try await engine.send(call.request).source == .network)
        #expect(transport.requests.count == 4)
    }

    @Test func `a typed call under networkElseCache returns the stored value where it cannot decode the server's`()
        async throws
    {
        let body = Guarded("[1]")
        let transport = StubTransport { _ throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=3600"], body: body.withLock { $0 })
        }
        let engine = temporary.engine(transport)
        let call = Request("http://h/", cache: .networkElseCache).decoding([Int].self)
        #expect(try await engine.send(call) == [1])
        body.withLock { $0 = "<html>" }
        #expect(try await engine.send(call) == [1])
        #expect(transport.requests.count == 2)
    }

    @Test func `stores an error status as HTTP allows`() async throws {
        let transport = StubTransport(status: 404, headers: [.cacheControl: "max-age=3600"], body: "[1]")
        let engine = temporary.engine(transport)
        for _ in 1...2 {
            await #expect(throws: ConnectionError.self) {
                _ = try await engine.send(Request("http://h/").decoding([Int].self))
            }
        }
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [Lane.default, "serial"]) func `decodes once, also in a serial lane`(lane: Lane)
        async throws
    {
        let decoder = CountingDecoder()
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = StubTransport(headers: [.cacheControl: "max-age=3600"], body: "null")
        configuration.decoder = decoder
        configuration.lanes = ["serial": .serial]
        let engine = Engine(configuration)
        var request = Request("http://h/")
        request.lane = lane
        for count in 1...2 {
            #expect(try await engine.send(request.decoding(Int?.self)) == nil)
            #expect(decoder.count.withLock { $0 } == count)
        }
    }

    private final class CountingDecoder: ResponseDecoder {
        let count = Guarded(0)

        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            count.withLock { $0 += 1 }
            return try JSONDecoder().decode(type, from: data)
        }
    }

    @Test func `fails with an error whose body can be decoded`() async throws {
        struct Fault: Decodable { let code: Int }
        let engine = engine(status: 422, #"{"code": 7}"#)
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await engine.send(Request("http://h/").decoding([Int].self))
        }
        #expect(try error?.decode(Fault.self).code == 7 && error?.problem == nil)
        #expect(throws: DecodingError.self) { try ConnectionError(.timedOut, "late").decode(Fault.self) }
    }

    @Test(
        arguments: [
            (
                #"{"type": "https://h/stock", "title": "Out of stock", "status": 409, "detail": "2 left", "left": 2}"#,
                "https://h/stock", "Out of stock", 409, "2 left", ["left": 2]
            ),
            (#"{"title": 7, "status": "409", "detail": "d"}"#, "about:blank", nil, nil, "d", [:]),
            ("{}", "about:blank", nil, nil, nil, [:]),
        ] as [(String, String, String?, Int?, String?, [String: JSONValue])])
    func `has a problem by RFC 9457 in its error`(
        body: String,
        type: String,
        title: String?,
        status: Int?,
        detail: String?,
        extensions: [String: JSONValue]
    ) async throws {
        let transport = StubTransport(
            status: 409, headers: [.contentType: "Application/Problem+JSON; charset=utf-8"], body: body)
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await temporary.engine(transport).send(Request("http://h/").decoding([Int].self))
        }
        let problem = try #require(error?.problem)
        #expect(problem.type == type && problem.title == title && problem.status == status)
        #expect(problem.detail == detail && problem.extensions == extensions)
    }

    @Test(arguments: [
        (#"{"title": "Out of stock", "detail": "2 left"}"#, "2 left"),
        (#"{"title": "Out of stock", "detail": " "}"#, "Out of stock"),
        (#"{"title": "Out of stock"}"#, "Out of stock"),
        (#"{"detail": "2 left:\n1 in Bonn\u001b[2J"}"#, "2 left: 1 in Bonn\\u{1B}[2J"),
        (#"{"detail": "see https://u:p@h/x?token=t0p&page=2"}"#, "see https://h/x?token=•••&page=2"),
        ("{}", "see the response"), ("[", "see the response"),
    ])
    func `a typed call's error contains the server's problem details`(
        body: String,
        explanation: String
    ) async throws {
        let transport = StubTransport(
            status: 409, headers: [.contentType: "application/problem+json"], body: body)
        let engine = temporary.engine(transport) { $0.interceptors = [ResponseValidator(statuses: 200...409)] }
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await engine.send(Request("http://h/").decoding([Int].self))
        }
        #expect(error?.message == "'http://h/' answered 409: \(explanation)")
    }
}
