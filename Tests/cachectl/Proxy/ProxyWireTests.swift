import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@Suite("cachectl proxy and an origin that breaks HTTP", .limit(minutes: 5)) struct ProxyWireTests {
    private static let fresh = "Cache-Control: max-age=600"

    @Test(arguments: [false, true])
    func `bytes after a response answer no other request, and are not stored`(isLate: Bool) async throws {
        let origin = try SurplusServer(
            "HTTP/1.1 200 OK\r\n\(Self.fresh)\r\nContent-Length: 1\r\n\r\na", isLate: isLate)
        let proxy = try await RunningProxy(origin.base)
        #expect(try await proxy.send("GET /first").body == "a")
        if isLate { await origin.sendSurplus() }
        for target in ["/b", "/c", "/b"] { #expect(try await proxy.send("GET \(target)").body == "own") }
    }

    @Test(arguments: [
        "Content-Length: 50\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\ncontent-length: 1",
    ])
    func `a length next to chunks is neither passed on nor stored`(fields: String) async throws {
        let origin = try ScriptedOrigin { _ in
            "HTTP/1.1 200 OK\r\n\(Self.fresh)\r\n\(fields)\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
        }
        let proxy = try await RunningProxy(origin.base)
        let first = try await proxy.send("GET /a")
        #expect(first.values("Content-Length") == [] && first.body == "2\r\nhi\r\n0\r\n\r\n", "\(first.head)")
        let second = try await proxy.send("GET /a")
        #expect(second.isHit && second.values("Content-Length") == ["2"] && second.body == "hi", "\(second.head)")
        #expect(second.values("Transfer-Encoding") == [] && origin.requests.count == 1)
    }

    @Test(arguments: ["Cache-Control : no-store", "Cache-Control\t: no-store", "Cache-Control:\r\n no-store"])
    func `a field with a blank before the colon counts, and is passed on without it`(field: String) async throws {
        let origin = try ScriptedOrigin { _ in
            ScriptedOrigin.response("200 OK", field, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", body: "a")
        }
        let proxy = try await RunningProxy(origin.base)
        for count in 1...2 {
            let answer = try await proxy.send("GET /a")
            #expect(answer.head.contains("\r\nCache-Control: no-store\r\n"), "\(answer.head)")
            #expect(!answer.isHit && origin.requests.count == count)
        }
    }

    @Test func `a line that is no field makes a 502`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response("200 OK", "Cache Control: no-store", body: "a") }
        #expect(try await RunningProxy(origin.base).send("GET /a").status == 502)
    }
}
