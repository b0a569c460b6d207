#if AsyncHTTPClient
import DiamondSQLite
import DiamondTestSupport
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A request over HTTP/2", .limit(minutes: 5), .enabled(if: TLSServer.executable != nil))
struct HTTP2RequestTests {
    private func engine(_ transport: any Transport, attempts: Int = 3) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        configuration.retry = RetryPolicy(attempts: attempts, baseDelay: .zero)
        return Engine(configuration)
    }

    /// Starts a server that refuses the first requests, and answers with their number.
    private static func refusing(
        _ limit: Int, by refuse: @escaping @Sendable (HTTP2Exchange) -> Void
    ) -> HTTP2Server.Script {
        let count = Guarded(0)
        return { exchange in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number > limit { exchange.answer("\(number - 1)") } else { refuse(exchange) }
        }
    }

    @Test(arguments: TransportKind.overHTTP2, [HTTPRequest.Method.get, .post])
    func `is sent again when its stream was refused`(kind: TransportKind, method: HTTPRequest.Method)
        async throws
    {
        try await kind.runOverHTTP2(Self.refusing(1) { $0.reset(.refused) }) { transport, server in
            let engine = engine(transport)
            try await kind.withShortcoming(.unseenRefusal, if: method == .post) {
                let response = try await engine.send(Request(server.base, method: method))
                #expect(response.text == "1")
            }
            await engine.close()
        }
    }

    @Test(arguments: TransportKind.overHTTP2, [HTTPRequest.Method.get, .post])
    func `is sent again when a GOAWAY frame says that it was not processed`(
        kind: TransportKind, method: HTTPRequest.Method
    ) async throws {
        try await kind.runOverHTTP2(Self.refusing(1) { $0.goAway() }) { transport, server in
            let engine = engine(transport)
            try await kind.withShortcoming(.unseenGoAway, if: method == .post) {
                let response = try await engine.send(Request(server.base, method: method))
                #expect(response.text == "1")
            }
            await engine.close()
        }
    }

    /// The refusals would use up two attempts if they counted.
    @Test func `an HTTP/2 request that the server refuses does not use up an attempt`() async throws {
        let script = Self.refusing(2) { $0.reset(.refused) }
        try await TransportKind.httpClient.runOverHTTP2(script) { transport, server in
            let engine = engine(transport, attempts: 2)
            let response = try await engine.send(Request(server.base, method: .post))
            #expect(response.text == "2" && server.connections == 1)
            #expect(response.attempts.map(\.reason?.code) == [.unprocessed, .unprocessed, nil])
            await engine.close()
        }
    }

    @Test(arguments: TransportKind.overHTTP2, [HTTPRequest.Method.get, .post])
    func `a misdirected HTTP/2 request is sent over another connection`(
        kind: TransportKind, method: HTTPRequest.Method
    ) async throws {
        try await kind.runOverHTTP2 { exchange in
            exchange.answer("\(exchange.connection)", status: exchange.connection == 1 ? 421 : 200)
        } _: { transport, server in
            let engine = engine(transport)
            try await kind.withShortcoming(.chosenConnection) {
                let response = try await engine.send(Request(server.base, method: method))
                #expect(response.status == .ok && response.text == "2")
            }
            await engine.close()
        }
    }
}
#endif
