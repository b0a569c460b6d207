import Diamond
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(5))) struct `The removal of nulls` {
    private struct City: Decodable, Sendable, Hashable {
        var name = "nameless"
        var tags: [String?] = []

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Key.self)
            if members.contains(.name) { name = try members.decode(String.self, forKey: .name) }
            if members.contains(.tags) { tags = try members.decode([String?].self, forKey: .tags) }
        }

        enum Key: CodingKey { case name, tags }
    }

    private let temporary = TemporaryStore()

    private func engine(type: String, _ body: String) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = StubTransport(
            headers: [.contentType: type, .cacheControl: "max-age=3600", .contentLength: "\(body.utf8.count)"],
            body: body)
        configuration.interceptors = [NullRemoval()]
        return Engine(configuration)
    }

    @Test func `leaves members to their defaults, from a server and from the cache`() async throws {
        let engine = engine(type: "application/json; charset=utf-8", #"{"name": null, "tags": [null, "a"]}"#)
        for source in [Response.Source.network, .cache] {
            let response = try await engine.send(Request("http://h/"))
            #expect(response.source == source && response.text == #"{"tags":[null,"a"]}"#)
            #expect(response.headers[.contentLength] == "19")
        }
        let city = try await engine.send(Request("http://h/").decode(City.self))
        #expect(city.name == "nameless" && city.tags == [nil, "a"])
    }

    @Test(arguments: [
        ("text/plain", #"{"a": null}"#), ("application/json", #"{"a": null"#), ("application/json", #"{"a": 1}"#),
    ]) func `leaves alone what is no JSON`(type: String, body: String) async throws {
        let text = try await engine(type: type, body).send(Request("http://h/")).text
        #expect(text == (body.contains("1") ? #"{"a":1}"# : body))
    }
}
