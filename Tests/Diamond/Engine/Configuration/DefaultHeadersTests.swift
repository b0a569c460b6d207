import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The default headers") struct DefaultHeadersTests {
    @Test(
        arguments: [
            ([], nil), (["de"], "de"), (["de-CH", "fr"], "de-CH, fr;q=0.9"),
            (
                ["a", "b", "c", "d", "e", "f", "g"],
                "a, b;q=0.9, c;q=0.8, d;q=0.7, e;q=0.6, f;q=0.5"
            ),
            (["zh-Hant-TW", "", "de_DE", "x y", "ü", "a\r\nb", "en-001"], "zh-Hant-TW, en-001;q=0.9"),
            (["de", "DE", "fr"], "de, fr;q=0.9"), (["abcdefghi"], nil),
        ] as [([String], String?)]) func `name languages in their order`(
            languages: [String], value: String?
        )
    {
        #expect(DefaultHeaders.acceptLanguage(languages) == value)
    }

    @Test(
        arguments: [
            ([:], []), (["LANG": "C"], []), (["LANG": "POSIX"], []), (["LANG": "C.UTF-8"], []), (["LANG": ""], []),
            (["LANG": "de_CH.UTF-8@euro"], ["de-CH"]), (["LANG": "sr@latin"], ["sr"]), (["LANG": "fr"], ["fr"]),
            (["LANG": "de", "LC_MESSAGES": "fr", "LC_TIME": "it"], ["fr"]),
            (["LANG": "de", "LC_MESSAGES": "fr", "LC_ALL": "es_ES"], ["es-ES"]),
            (["LANG": "de", "LC_ALL": "C"], []), (["LANG": "de", "LC_ALL": ""], ["de"]),
            (["LANG": "de", "LANGUAGE": "de_AT:en::C"], ["de-AT", "en"]), (["LANG": "de", "LANGUAGE": ""], ["de"]),
            (["LANG": "C", "LANGUAGE": "de"], []),
        ] as [([String: String], [String])])
    func `name the languages of an environment`(environment: [String: String], languages: [String]) {
        #expect(DefaultHeaders.languages(of: environment) == languages)
    }

    @Test(
        arguments: [
            ("Atlas", "1.2", "Atlas/1.2 Diamond"), ("Atlas", nil, "Atlas Diamond"), ("", nil, "Diamond"),
            ("My Äpp (2)", "1 b/2", "My-pp-2/1-b-2 Diamond"), ("Atlas", "", "Atlas Diamond"),
        ] as [(String, String?, String)])
    func `name the program in tokens`(name: String, version: String?, value: String) {
        #expect(DefaultHeaders.userAgent(name, version: version) == value)
    }

    @Test func `are sent where neither app nor request sets them, and are part of the key`()
        async throws
    {
        let transport = StubTransport()
        var configuration = Engine.Configuration(store: nil)
        #expect(configuration.headers == DefaultHeaders.platform)
        #expect(configuration.headers[.userAgent]?.hasSuffix(" Diamond") == true)
        configuration.transport = transport
        configuration.headers[.acceptLanguage] = DefaultHeaders.acceptLanguage(["de", "en"])
        let engine = Engine(configuration)
        let own = Request("http://h/", headers: [.acceptLanguage: "fr"])
        _ = try await engine.send(Request("http://h/"))
        _ = try await engine.send(own)
        #expect(transport.requests.map { $0.headers[.acceptLanguage] } == ["de, en;q=0.9", "fr"])
        let resolved = try await configuration.resolve(Request("http://h/"))
        #expect(resolved.headers[.acceptLanguage] == "de, en;q=0.9")
        configuration.headers = [.userAgent: "Atlas"]
        let silent = Engine(configuration)
        _ = try await silent.send(Request("http://h/"))
        #expect(transport.requests.last?.headers == [.userAgent: "Atlas"])
        #expect(try await silent.key(of: Request("http://h/")) != engine.key(of: Request("http://h/")))
        #expect(try await silent.key(of: own) == engine.key(of: own))
    }

    @Test(arguments: [HTTPFields(), [.userAgent: "Own"]])
    func `are all sent where one name has several values`(own: HTTPFields) async throws {
        let transport = StubTransport()
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        configuration.headers = [.userAgent: "Atlas"]
        for value in ["a", "b"] { configuration.headers.append(HTTPField(name: .accept, value: value)) }
        _ = try await Engine(configuration).send(Request("http://h/", headers: own))
        let sent = try #require(transport.requests.first?.headers)
        #expect(sent[values: .accept] == ["a", "b"])
        #expect(sent[values: .userAgent] == [own[.userAgent] ?? "Atlas"])
    }
}
