import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("TLS settings", .limit(minutes: 5)) struct TLSSettingsTests {
    private let missing = URL(filePath: "/nowhere/roots.pem")
    private let folder = TemporaryFolder()

    private func settings(_ change: (inout TLSSettings) -> Void) -> TransportSettings {
        var settings = TransportSettings()
        change(&settings.tls)
        return settings
    }

    private func refusal(_ change: (inout TLSSettings) -> Void) -> TransportError? { settings(change).tls.refusal }

    @Test func `are refused where a file is missing, or invalid`() throws {
        let text = try folder.file("none.pem", Data("none".utf8))
        for file in [missing, text] {
            for error in [
                refusal { $0.roots = .only(file) }, refusal { $0.roots = .systemAnd(file) },
                refusal { $0.clientCertificate = .init(certificate: file, privateKey: file) },
            ] {
                #expect(error?.code == .badSettings && error?.message.contains(file.path) == true)
            }
        }
        #expect(TLSSettings().refusal == nil)
    }

    @Test(arguments: ["", "x", "sha256//AAAA", "AAAA"]) func `are refused where a pin is invalid`(
        pin: String
    ) {
        #expect(refusal { $0.pins = ["h.x": [pin]] }?.code == .badSettings)
        #expect(refusal { $0.pins = ["h.x": []] }?.code == .badSettings)
    }

    private static let pin = Data(count: 32).base64EncodedString()

    @Test(arguments: [
        "", "API.example.com", "api.example.com:8443", "https://api.example.com", "api.example.com.", "ä.x",
        "[::1]", "2001:db8::1:", "2001:db8:0:0:0:0:0:1",
    ])
    func `are refused where a pin could never match`(host: String) {
        #expect(refusal { $0.pins = [host: [Self.pin]] }?.code == .badSettings)
    }

    @Test(arguments: ["2001:db8:0:0:0:0:0:1", "2001:DB8::1", "2001:db8::0.0.0.1", "2001:0db8::1"])
    func `TLS settings with an IPv6 address that could never match are refused with its canonical form`(host: String) {
        let error = refusal { $0.pins = [host: [Self.pin]] }
        #expect(error?.code == .badSettings && error?.message.hasSuffix("write the address as 2001:db8::1") == true)
        #expect(refusal { $0.pins = ["2001:db8::1": [Self.pin]] } == nil)
    }

    @Test(arguments: [
        ("https://api.x/a", true), ("https://API.x:8443/", true), ("https://api.x./", true), ("https://b.x/", false),
        ("https://[::1]/", true), ("https://[0:0:0:0:0:0:0:1]/", true), ("https://[::2]/", false),
    ])
    func `pin the hosts that they name`(url: String, isPinned: Bool) {
        let settings = settings { $0.pins = ["api.x": [Self.pin], "::1": [Self.pin]] }
        #expect(settings.tls.refusal == nil && settings.tls.pins(for: url) == (isPinned ? [Self.pin] : []))
    }

    @Test func `find no pins for a host with percent escapes, which cannot be parsed`() {
        #expect(settings { $0.pins = ["api.x": [Self.pin]] }.tls.pins(for: "https://%61pi.x/") == nil)
    }

    @Test func `TLS settings that cannot be applied keep an engine from sending`() async throws {
        let server = try RawServer(answering: "HTTP/1.1 200 OK\r\n\r\n")
        var configuration = Engine.Configuration(store: nil)
        configuration.transportSettings = settings { $0.roots = .only(missing) }
        let error = await #expect(throws: ConnectionError.self) {
            try await Engine(configuration).send(Request(server.base))
        }
        #expect(error?.code == .badSettings && error?.attempts.count == 1)
    }

    #if os(Linux)
    @Test func `URLSession on Linux refuses each TLS or proxy setting with an error that names it`() throws {
        _ = try URLSessionTransport(TransportSettings())
        var proxied = TransportSettings()
        proxied.proxy = .none
        let cases: [(TransportSettings, String)] = [
            (proxied, "proxy"), (settings { $0.minimumVersion = .v1_2 }, "version"),
            (settings { $0.roots = .only(missing) }, "roots"),
            (settings { $0.pins = ["h": ["x"]] }, "pins"),
            (
                settings { $0.clientCertificate = .init(certificate: missing, privateKey: missing) },
                "client certificate"
            ),
        ]
        for (settings, name) in cases {
            let error = #expect(throws: TransportError.self) { try URLSessionTransport(settings) }
            #expect(error?.code == .badSettings && error?.message.contains(name) == true)
            #expect(error?.message.hasSuffix("use the transport over libcurl, with the package trait Curl") == true)
        }
    }
    #endif
}
