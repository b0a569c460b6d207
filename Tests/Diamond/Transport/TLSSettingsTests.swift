import Crypto
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

#if Curl && os(Linux)
@Suite("A server over TLS", .limit(minutes: 5), .enabled(if: TLSServer.executable != nil)) struct TLSServerTests {
    private func status(
        of server: TLSServer,
        asProxy isProxy: Bool = false,
        _ change: (inout TLSSettings) -> Void
    ) async throws -> Result<Int, TransportError> {
        var settings = TransportSettings()
        change(&settings.tls)
        if isProxy { settings.proxy = .through(Proxy(String(server.url.dropLast()))) }
        let transport = try CurlTransport(settings)
        do throws(TransportError) {
            let url = isProxy ? "http://name.invalid/" : server.url
            let status = try await transport.send(TransportRequest(url: url)).status.code
            await transport.close()
            return .success(status)
        } catch {
            await transport.close()
            return .failure(error)
        }
    }

    private func code(_ result: Result<Int, TransportError>) -> TransportError.Code? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    @Test func `is accepted where its certificate is trusted`() async throws {
        let (own, other) = (try await TLSServer.Identity(), try await TLSServer.Identity())
        let server = try await TLSServer(own)
        #expect(code(try await status(of: server) { _ in }) == .certificateRejected)
        #expect(code(try await status(of: server) { $0.roots = .only(other.certificate) }) == .certificateRejected)
        #expect(code(try await status(of: server) { $0.roots = .systemAnd(other.certificate) }) == .certificateRejected)
        #expect(try await status(of: server) { $0.roots = .only(own.certificate) }.get() == 200)
        #expect(try await status(of: server) { $0.roots = .systemAnd(own.certificate) }.get() == 200)
    }

    @Test func `is refused where its key is not a pinned one`() async throws {
        let own = try await TLSServer.Identity()
        let server = try await TLSServer(own)
        let text = try await own.publicKey().split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
        let key = Data(SHA256.hash(data: try #require(Data(base64Encoded: text)))).base64EncodedString()
        let another = Data(repeating: 7, count: 32).base64EncodedString()
        for (pins, isTaken) in [
            (["127.0.0.1": [key]], true), (["127.0.0.1": [another, key]], true), (["127.0.0.1": [another]], false),
            (["localhost": [another]], true),
        ] as [([String: Set<String>], Bool)] {
            let result = try await status(of: server) { ($0.roots, $0.pins) = (.only(own.certificate), pins) }
            #expect(code(result) == (isTaken ? nil : .certificateRejected), "\(pins)")
        }
        // A pinned key alone does not make a certificate trusted.
        let alone = try await status(of: server) { $0.pins = ["127.0.0.1": [key]] }
        #expect(code(alone) == .certificateRejected)
    }

    @Test(arguments: [false, true])
    func `a TLS server or proxy is refused when its TLS version is too old`(isProxy: Bool) async throws {
        let own = try await TLSServer.Identity()
        let server = try await TLSServer(own, ["-tls1_2"])
        for (version, isTaken) in [(nil, true), (.v1_2, true), (.v1_3, false)] as [(TLSSettings.Version?, Bool)] {
            let result = try await status(of: server, asProxy: isProxy) {
                ($0.roots, $0.minimumVersion) = (.only(own.certificate), version)
            }
            #expect(code(result) == (isTaken ? nil : .tlsFailed))
        }
    }

    @Test(arguments: [nil, "s3cret"]) func `receives the client certificate that it asks for`(
        password: String?
    ) async throws {
        let (own, client) = (try await TLSServer.Identity(), try await TLSServer.Identity(password: password))
        // TLS 1.3 reports a missing certificate only after the request.
        let asks = ["-Verify", "1", "-verify_return_error", "-CAfile", client.certificate.path, "-tls1_2"]
        let server = try await TLSServer(own, asks)
        #expect(code(try await status(of: server) { $0.roots = .only(own.certificate) }) != nil)
        let result = try await status(of: server) {
            $0.roots = .only(own.certificate)
            $0.clientCertificate = .init(
                certificate: client.certificate, privateKey: client.privateKey,
                password: password.map { .unnamed($0) })
        }
        #expect(try result.get() == 200)
    }
}
#endif
