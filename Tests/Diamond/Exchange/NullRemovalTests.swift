import Diamond
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@Suite("The removal of nulls", .limit(minutes: 5)) struct NullRemovalTests {
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

    @Test func `removes null members, so that defaults apply, from server and cache`() async throws {
        let engine = engine(type: "application/json; charset=utf-8", #"{"name": null, "tags": [null, "a"]}"#)
        for source in [Response.Source.network, .cache] {
            let response = try await engine.send(Request("http://h/"))
            #expect(response.source == source && response.text == #"{"tags":[null,"a"]}"#)
            #expect(response.headers[.contentLength] == "19")
        }
        let city = try await engine.send(Request("http://h/").decoding(City.self))
        #expect(city.name == "nameless" && city.tags == [nil, "a"])
    }

    @Test(arguments: ["iso-8859-1", "utf-16", "utf-8"])
    func `reads and writes other charsets than UTF-8 by their names`(charset: String) async throws {
        let body = "{\"name\": null, \"tags\": [\"caf\u{e9}\"]}"
        let encodings: [String: String.Encoding] = ["iso-8859-1": .isoLatin1, "utf-16": .utf16, "utf-8": .utf8]
        let data = try #require(encodings[charset].flatMap { body.data(using: $0) })
        var configuration = Engine.Configuration(store: nil)
        configuration.interceptors = [NullRemoval()]
        configuration.transport = StubTransport { _ throws(TransportError) in
            .stub(headers: [.contentType: "application/json; charset=\"\(charset)\"; v=1"], body: data)
        }
        let response = try await Engine(configuration).send(Request("http://h/"))
        #expect(response.headers[.contentType] == #"application/json; charset="utf-8"; v=1"#)
        #expect(response.text == "{\"tags\":[\"caf\u{e9}\"]}")
        #expect(try response.decode(City.self).tags == ["caf\u{e9}"])
    }

    @Test(arguments: [
        ("text/plain", #"{"a": null}"#), ("application/json", #"{"a": null"#), ("application/json", #"{"a": 1}"#),
    ]) func `leaves other content than JSON alone`(type: String, body: String) async throws {
        let text = try await engine(type: type, body).send(Request("http://h/")).text
        #expect(text == (body.contains("1") ? #"{"a":1}"# : body))
    }
}
