import Diamond
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
        var request = Request("\(base)/cities", parameters: ["country": JSONValue(country)])
        request.parameters["minPopulation"] = minPopulation.map { JSONValue($0) }
        request.cache = .automatic(maxAge: .seconds(60))
        return request
    }
}

private struct Settings: Endpoint {
    typealias Output = [String: Int]
    var decoder: (any ResponseDecoder)? { PropertyListDecoder() }
    var request: Request { Request("http://h/settings.plist") }
}

@Suite(.timeLimit(.minutes(5))) struct `A call with a type` {
    private let temporary = TemporaryStore()

    private func engine(status: Int = 200, _ body: String) -> Engine {
        temporary.engine(StubTransport(status: status, body: body))
    }

    @Test func `is answered by a real server, and from the cache in another process's words`() async throws {
        let engine = Engine(Engine.Configuration(store: temporary.store))
        let search = Search(country: "DE", minPopulation: 1_000_000, base: try await SampleServer.shared.base)
        #expect(try await engine.send(search).items.map(\.name).contains("Munich"))
        let copy = try JSONDecoder().decode(Search.self, from: try JSONEncoder().encode(search))
        #expect(copy == search)
        #expect(try await engine.send(copy.request).source == .cache)
        #expect(try await engine.send(copy.request.decode(Cities.self)).items.count == 4)
        await engine.close()
    }

    @Test func `may be any request, and is written as that`() async throws {
        let call = Request("http://h/", parameters: ["a": 1]).decode([Int].self)
        #expect(try await engine("[1, 2]").send(call) == [1, 2])
        let copy = try JSONDecoder().decode(DecodedRequest<[Int]>.self, from: try JSONEncoder().encode(call))
        #expect(copy == call)
    }

    @Test func `brings its own decoder, or takes the engine's`() async throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        let list = String(decoding: try encoder.encode(["a": 1]), as: UTF8.self)
        #expect(try await engine(list).send(Settings()) == ["a": 1])
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = StubTransport(body: #"{"full_name": "Ada"}"#)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        configuration.decoder = decoder
        let names = try await Engine(configuration).send(Request("http://h/").decode(Snake.self))
        #expect(names.fullName == "Ada")
    }

    private struct Snake: Decodable, Sendable { var fullName: String }

    @Test func `takes the body as it is, or none at all`() async throws {
        #expect(try await engine("raw").send(Request("http://h/").decode(Data.self)) == Data("raw".utf8))
        #expect(try await engine(status: 204, "").send(Request("http://h/").decode(Nothing.self)) == Nothing())
    }

    @Test(arguments: [
        (#"{"items": [{"name": "a", "population": 1}, {"name": null, "population": 2}]}"#, "items[1].name: "),
        (#"{"items": [{"name": "a"}]}"#, "items[0].population: is missing"),
        (#"{"items": [{"name": "a", "population": "many"}]}"#, "items[0].population: "),
        (#"{"items": 1}"#, "items: "), ("<html>", "the whole body: "), ("", "the whole body: "),
    ]) func `names the place of what cannot be decoded, and keeps the body`(body: String, place: String) async throws {
        let call = Request("http://h/cities?token=s3cret").decode(Cities.self)
        let error = await #expect(throws: ConnectionError.self) { _ = try await engine(body).send(call) }
        #expect(error?.code == .undecodable)
        #expect(error?.message.contains("is no Cities: \(place)") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("s3cret") == false)
        #expect(error?.response?.text == body)
        #expect(error?.cause is DecodingError)
    }

    @Test(arguments: [304, 404, 500]) func `fails for a status other than 2xx, and keeps the response`(status: Int)
        async
    {
        let call = Request("http://h/").decode([Int].self)
        let error = await #expect(throws: ConnectionError.self) {
            _ = try await engine(status: status, "[1]").send(call)
        }
        #expect(error?.code == .badStatus)
        #expect(error?.response?.status.code == status)
        #expect(error?.response?.text == "[1]")
    }
}
