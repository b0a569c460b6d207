import DiamondTestSupport
import Foundation
import Testing

@Suite("The maximum number of clients of cachectl proxy", .limit(minutes: 5)) struct ProxyClientLimitTests {
    @Test func `is kept by an answer of 503 to others, until one leaves`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response(body: "hello") }
        let proxy = try await RunningProxy(origin.base, "--max-clients", "1")
        do {
            let first = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await first.read(through: "hello").hasPrefix("HTTP/1.1 200"))
            for (line, hasBody) in [("GET /a", true), ("HEAD /a", false)] {
                let second = try await proxy.send(line)
                #expect(second.status == 503 && second.values("Retry-After") == ["1"], "\(second.head)")
                #expect(second.values("Connection") == ["close"] && second.body.isEmpty == !hasBody)
            }
            #expect(try await proxy.send("POST /a", body: "x").status == 503 && origin.requests.count == 1)
            withExtendedLifetime(first) {}
        }
        // The proxy notices a little later that the client has left.
        var statuses: [Int] = []
        while statuses.last != 200 { statuses.append(try await proxy.send("GET /a").status) }
        #expect(Set(statuses).isSubset(of: [200, 503]))
        proxy.signal(SIGTERM)
        let refused = await proxy.ended().log.first { $0.contains(" 503 ") }
        #expect(refused?.hasSuffix("the proxy has its maximum number of clients") == true, "\(refused ?? "")")
    }
}
