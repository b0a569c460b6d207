import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A proxy", .limit(minutes: 5)) struct ProxyTests {
    private struct PasswordProvider: CredentialProvider {
        var secrets: [String: String] = [:]
        func secret(_ name: String, for identity: String?) async throws -> String? { secrets[name] }
    }

    @Test(arguments: ["proxy", "ftp://h:1", "http://anna:s3cret@h:1"])
    func `a proxy with an invalid URL is refused, and its error reveals no secret`(url: String) {
        let refusal = Proxy(url).refusal
        #expect(refusal?.code == .badSettings)
        #expect(refusal?.message.contains("s3cret") == false && !"\(Proxy(url))".contains("s3cret"))
    }

    @Test func `a proxy setting is refused when the engine has a transport of its own`() async throws {
        let transport = StubTransport()
        var configuration = Engine.Configuration(testing: transport)
        configuration.transportSettings.proxy = .through(Proxy("http://h:1"))
        let error = await #expect(throws: ConnectionError.self) {
            try await Engine(configuration).send(Request("http://h/"))
        }
        #expect(error?.code == .badSettings && transport.requests.isEmpty)
    }

    @Test(arguments: ["", "a b", "a,b"]) func `is refused when an exception is not a host`(exception: String) {
        #expect(Proxy("http://h:1", exceptions: [exception]).refusal?.code == .badSettings)
        #expect(Proxy("socks5h://h:1", exceptions: ["h", ".h.x", "10.0.0.0/8", "*"]).refusal == nil)
    }

    #if Curl && os(Linux)
    /// A proxy server that answers for every host, and records the requests.
    private final class RecordingProxy: Sendable {
        let heads = Guarded<[String]>([])
        let raw: RawServer

        init() throws {
            let heads = heads
            raw = try RawServer { connection in
                guard let head = connection.readHead() else { return }
                heads.withLock { $0.append(head) }
                let status = head.hasPrefix("CONNECT") ? "407 Proxy Authentication Required" : "200 OK"
                connection.write("HTTP/1.1 \(status)\r\nContent-Length: 5\r\nConnection: close\r\n\r\nproxy")
            }
        }

        func proxy(_ change: (inout Proxy) -> Void = { _ in }) -> TransportSettings {
            var (settings, proxy) = (TransportSettings(), Proxy(raw.base))
            change(&proxy)
            settings.proxy = .through(proxy)
            return settings
        }
    }

    private func engine(_ settings: TransportSettings, _ provider: PasswordProvider? = nil) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.transportSettings = settings
        configuration.credentials = provider
        configuration.retry = .never
        return Engine(configuration)
    }

    @Test func `receives the request and its own password, which is a named secret`() async throws {
        let server = try RecordingProxy()
        let settings = server.proxy { ($0.username, $0.password) = ("anna", .secret("proxy")) }
        let engine = engine(settings, PasswordProvider(secrets: ["proxy": "s3cret"]))
        for _ in 1...2 {
            #expect(try await engine.send(Request("http://name.invalid/a?b=1")).text == "proxy")
        }
        for head in server.heads.withLock({ $0 }) {
            #expect(head.hasPrefix("GET http://name.invalid/a?b=1 HTTP/1.1\r\n"))
            #expect(head.contains("Proxy-Authorization: Basic \(Data("anna:s3cret".utf8).base64EncodedString())\r\n"))
        }
        #expect(!"\(settings)".contains("s3cret"))
        await engine.close()
    }

    @Test func `receives nothing where its password is not known`() async throws {
        let server = try RecordingProxy()
        let engine = engine(
            server.proxy { ($0.username, $0.password) = ("anna", .secret("proxy")) }, PasswordProvider())
        let error = await #expect(throws: ConnectionError.self) {
            try await engine.send(Request("http://name.invalid/"))
        }
        #expect(error?.code == .badSettings && error?.message.contains("'proxy'") == true)
        #expect(server.heads.withLock { $0 }.isEmpty)
        await engine.close()
    }

    /// Waits at a gate that cancellation does not open.
    private struct HangingProvider: CredentialProvider {
        let isAsked = Guarded(false)
        let gate = Gate()

        func secret(_ name: String, for identity: String?) async throws -> String? {
            isAsked.withLock { $0 = true }
            await gate.wait()
            return "s3cret"
        }
    }

    @Test func `a request that waits for the proxy's password can be canceled`() async throws {
        let (server, keychain) = (try RecordingProxy(), HangingProvider())
        let settings = server.proxy { ($0.username, $0.password) = ("anna", .secret("proxy")) }
        let transport = try CurlTransport(settings, credentials: keychain)
        let task = Task { await transport.failure(of: TransportRequest(url: "http://name.invalid/")) }
        await untilTrue { keychain.isAsked.withLock { $0 } }
        task.cancel()
        let error = await task.value
        #expect(error?.code == .cancelled && error?.serverMayHaveActed == false)
        #expect(server.heads.withLock { $0 }.isEmpty)
        keychain.gate.open()
        await transport.close()
    }

    @Test func `a request that waits for the proxy's password ends at the attempt timeout`() async throws {
        let (server, keychain, clock) = (try RecordingProxy(), HangingProvider(), TestClock())
        var configuration = Engine.Configuration(store: nil)
        configuration.transportSettings = server.proxy { ($0.username, $0.password) = ("anna", .secret("proxy")) }
        (configuration.credentials, configuration.clock) = (keychain, clock)
        configuration.retry = RetryPolicy(attempts: 1, attemptTimeout: .seconds(10))
        let engine = Engine(configuration)
        let task = Task { try await engine.send(Request("http://name.invalid/")) }
        await untilTrue { keychain.isAsked.withLock { $0 } && clock.sleeping == [.seconds(10)] }
        clock.advance(by: .seconds(10))
        let error = await #expect(throws: ConnectionError.self) { try await task.value }
        #expect(error?.code == .timedOut)
        await untilTrue { engine.lanes.running == 0 }
        keychain.gate.open()
        await engine.close()
    }

    @Test func `is bypassed for its exceptions`() async throws {
        let (server, direct) = (try RecordingProxy(), try RawServer(answering: "HTTP/1.1 200 OK\r\n\r\ndirect"))
        let engine = engine(server.proxy { $0.exceptions = ["127.0.0.1", "example.org"] })
        #expect(try await engine.send(Request(direct.base)).text == "direct")
        #expect(try await engine.send(Request("http://name.invalid/")).text == "proxy")
        #expect(server.heads.withLock { $0.count } == 1)
        await engine.close()
    }

    @Test func `a proxy that refuses a tunnel is an error that says the request was not sent`() async throws {
        let server = try RecordingProxy()
        let transport = try CurlTransport(server.proxy())
        let error = await transport.failure(of: TransportRequest(url: "https://name.invalid/"))
        #expect(error?.code == .cannotConnect && error?.message.contains("proxy answered 407") == true)
        #expect(error?.serverMayHaveActed == false)
        #expect(server.heads.withLock { $0.first?.hasPrefix("CONNECT name.invalid:443 ") } == true)
        await transport.close()
    }

    @Test func `may use SOCKS, and then resolves names itself`() async throws {
        let asked = Guarded<[UInt8]>([])
        let socks = try RawServer { connection in
            // RFC 1928: no authentication; then CONNECT to a name.
            guard let greeting = connection.read(2), connection.read(Int(greeting[1]))?.contains(0) == true
            else { return }
            connection.write([5, 0] as [UInt8])
            guard let begin = connection.read(5), let rest = connection.read(Int(begin[4]) + 2) else { return }
            asked.withLock { $0 = begin + rest }
            connection.write([5, 0, 0, 1, 127, 0, 0, 1, 0, 80] as [UInt8])
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsocks")
        }
        var settings = TransportSettings()
        settings.proxy = .through(Proxy(socks.base.replacing("http://", with: "socks5h://")))
        let transport = try CurlTransport(settings)
        let (_, body) = try await transport.get("http://name.invalid/")
        #expect(String(decoding: body, as: UTF8.self) == "socks")
        #expect(asked.withLock { String(decoding: $0, as: UTF8.self) }.contains("name.invalid"))
        await transport.close()
    }
    #endif
}
