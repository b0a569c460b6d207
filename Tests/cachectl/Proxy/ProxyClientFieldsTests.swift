import DiamondTestSupport
import Foundation
import Testing

@Suite("cachectl proxy tells the origin about the client", .limit(minutes: 5)) struct ProxyClientFieldsTests {
    private static let own = [
        "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: public.example",
        "Forwarded: for=192.0.2.1;proto=https",
    ]

    private static func request(_ fields: [String], target: String = "/a", host: String = "client.example:81") -> String
    {
        (["GET \(target) HTTP/1.1", "Host: \(host)", "Connection: close"] + fields).joined(separator: "\r\n")
            + "\r\n\r\n"
    }

    @Test(arguments: [[], own, own.map { $0.lowercased() }, ["X-Forwarded-Port: 1", "X-Real-IP: 192.0.2.1"]])
    func `by fields of its own in place of the client's`(fields: [String]) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base)
        #expect(try await proxy.answer(to: Self.request(fields)).status == 200)
        let request = RawAnswer(Array(try #require(origin.requests.first).head.utf8))
        #expect(request.values("X-Forwarded-For") == ["127.0.0.1"])
        #expect(request.values("X-Forwarded-Proto") == ["http"])
        #expect(request.values("X-Forwarded-Host") == ["client.example:81"])
        #expect(request.values("Forwarded") == [#"for=127.0.0.1;host="client.example:81";proto=http"#])
        #expect(request.values("X-Forwarded-Port").isEmpty && request.values("X-Real-IP").isEmpty)
    }

    @Test func `by the host of an absolute URL instead of the field Host`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base)
        #expect(try await proxy.answer(to: Self.request([], target: "\(origin.base)/a")).status == 200)
        #expect(origin.requests.first?.value("X-Forwarded-Host").map { "http://\($0)" } == origin.base)
    }

    @Test func `by what another proxy says, if that is trusted`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response() }
        let proxy = try await RunningProxy(origin.base, "--trust-forwarded")
        #expect(try await proxy.answer(to: Self.request(Self.own, host: "inner")).status == 200)
        #expect(try await proxy.answer(to: Self.request([], host: "inner")).status == 200)
        let requests = origin.requests
        #expect(requests.map { $0.value("X-Forwarded-For") } == ["192.0.2.1, 127.0.0.1", "127.0.0.1"])
        #expect(requests.map { $0.value("X-Forwarded-Proto") } == ["https", "http"])
        #expect(requests.map { $0.value("X-Forwarded-Host") } == ["public.example", "inner"])
        let element = "for=127.0.0.1;host=public.example;proto=http"
        #expect(requests[0].value("Forwarded") == "for=192.0.2.1;proto=https, \(element)")
        #expect(requests[1].value("Forwarded") == "for=127.0.0.1;host=inner;proto=http")
    }
}
