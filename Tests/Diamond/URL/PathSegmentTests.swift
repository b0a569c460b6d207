import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("RFC 3986 section 3.3") struct PathSegmentTests {
    @Test(
        arguments: [
            ("Kyoto", "Kyoto"), ("São Tomé", "S%C3%A3o%20Tom%C3%A9"), ("AC/DC", "AC%2FDC"), ("a\\b", "a%5Cb"),
            ("a?b#c", "a%3Fb%23c"), ("100%", "100%25"), ("%2e%2e", "%252e%252e"), ("//host", "%2F%2Fhost"),
            ("https://host/", "https%3A%2F%2Fhost%2F"), ("...", "..."), (".a", ".a"), ("a..", "a.."), ("-._~", "-._~"),
            (" ", "%20"), ("\0", "%00"), ("./a", ".%2Fa"),
        ]) func `a value is one encoded segment, with and without the base URL`(value: String, segment: String)
        async throws
    {
        #expect("cities/\(segment: value)/photos" == "cities/\(segment)/photos")
        let transport = StubTransport()
        var configuration = Engine.Configuration(testing: transport)
        configuration.baseURL = "https://api.test/v1/"
        let engine = Engine(configuration)
        _ = try await engine.send(Request("cities/\(segment: value)"))
        _ = try await engine.send(Request("\(segment: value)"))
        _ = try await engine.send(Request("https://other.test/\(segment: value)"))
        #expect(
            transport.requests.map(\.url) == [
                "https://api.test/v1/cities/\(segment)", "https://api.test/v1/\(segment)",
                "https://other.test/\(segment)",
            ])
    }

    @Test func `an integer and a UUID are segments, too`() {
        let id = UUID()
        #expect("\(segment: 7)/\(segment: id)/\(segment: true)" == "7/\(id.uuidString)/true")
    }

    @Test(arguments: ["", ".", "..", "../x", "a/../b", "..\\x", "x/.."])
    func `a value that would change the path is refused before anything is sent`(value: String) async {
        let transport = StubTransport()
        var configuration = Engine.Configuration(testing: transport)
        configuration.baseURL = "https://api.test/v1/"
        let engine = Engine(configuration)
        for url in ["cities/\(segment: value)", "\(segment: value)/x", "https://api.test/cities/\(segment: value)"] {
            let error = await #expect(throws: ConnectionError.self) { try await engine.send(Request(url)) }
            #expect(error?.code == .badRequest && (error?.cause as? RequestError)?.code == .malformedURL)
            #expect(error?.message.contains("would change the path") == true, "\(error?.message ?? "")")
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func `a percent sign without hexadecimal digits has an error message of its own`() {
        let error = #expect(throws: RequestError.self) { try RequestURL("https://h/%(seg)") }
        #expect(error?.message.contains("two hexadecimal digits") == true)
    }
}
