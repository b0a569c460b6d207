import Crypto
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

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
