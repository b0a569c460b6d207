import DiamondTestSupport
import Foundation
import Testing

@Suite("cachectl proxy trusts an origin", .limit(minutes: 5), .enabled(if: TLSServer.executable != nil))
struct ProxyTLSTests {
    @Test func `whose certificate is in the file of --ca-file, and no other`() async throws {
        let identity = try await TLSServer.Identity()
        let server = try await TLSServer(identity)
        let origin = String(server.url.dropLast())
        let trusting = try await RunningProxy(origin, "--ca-file", identity.certificate.path)
        #expect(try await trusting.send("GET /").status == 200)
        let other = try await TLSServer.Identity()
        for options in [[], ["--ca-file", other.certificate.path]] {
            let proxy = try await RunningProxy(origin, options: options)
            #expect(try await proxy.send("GET /").status == 502)
        }
    }
}
