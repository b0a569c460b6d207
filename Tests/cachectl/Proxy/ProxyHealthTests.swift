import DiamondTestSupport
import Foundation
import Testing

@Suite("The health address of cachectl proxy", .limit(minutes: 5)) struct ProxyHealthTests {
    private static func answer(_ address: String, _ line: String = "GET /") async throws -> RawAnswer {
        let client = try RawClient(address)
        client.write("\(line) HTTP/1.1\r\nHost: x\r\n\r\n")
        return RawAnswer(await client.read())
    }

    @Test func `answers 200 to each request, and no request there reaches the origin`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base, "--health", "127.0.0.1:0")
        let address = try #require(proxy.healthAddress)
        for line in ["GET /", "GET /.well-known/health"] {
            let answer = try await Self.answer(address, line)
            #expect(answer.status == 200 && answer.body == "{\"status\":\"ok\"}\n", "\(answer.head)")
        }
        #expect(try await Self.answer(address, "HEAD /").body.isEmpty)
        #expect(origin.requests.isEmpty)
    }

    @Test func `answers 503 while the proxy stops`() async throws {
        let (arrived, next) = (Gate(), DispatchSemaphore(value: 0))
        let origin = try ScriptedOrigin { _ in
            arrived.open()
            next.wait()
            return ScriptedOrigin.response()
        }
        let proxy = try await RunningProxy(origin.base, "--health", "127.0.0.1:0")
        let address = try #require(proxy.healthAddress)
        let idle = try proxy.client(sending: "")
        let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        await arrived.wait()
        proxy.signal(SIGTERM)
        // The idle connection is closed when the proxy has noticed the signal.
        #expect(await idle.read().isEmpty)
        #expect(try await Self.answer(address).status == 503)
        next.signal()
        #expect(RawAnswer(await client.read()).status == 200)
        #expect(await proxy.ended().ending == .exited(0))
    }

    @Test func `is none by default, and every path is the origin's`() async throws {
        let origin = try ScriptedOrigin { ScriptedOrigin.response(body: $0.target) }
        let proxy = try await RunningProxy(origin.base)
        #expect(proxy.healthAddress == nil)
        for target in ["/.well-known/health", "/.well-known/", "/health", "/healthz"] {
            #expect(try await proxy.send("GET \(target)").body == target)
        }
    }
}
