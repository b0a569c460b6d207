#if Curl && os(Linux)
import DiamondTestSupport
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `A connection that is being made` {
    #if AsyncHTTPClient
    @Test(.enabled(if: TLSServer.executable != nil)) func `is waited for, and shared over HTTP/2`() async throws {
        try await TransportKind.curl.runOverHTTP2 { exchange in
            exchange.answer("")
        } _: { transport, server in
            try await withThrowingTaskGroup { group in
                for _ in 0..<20 { group.addTask { _ = try await transport.get(server.base) } }
                try await group.waitForAll()
            }
            #expect(server.connections == 1)
        }
    }
    #endif

    /// The first has all the time it likes; of the second nothing is sent in the time that it has.
    @Test func `is waited for no longer than the connectTimeout`() async throws {
        let hasCome = Gate()
        let server = try RawServer { connection in
            guard connection.read(1) != nil else { return }
            hasCome.open()
            _ = connection.readRest()
        }
        let (transport, url) = (CurlTransport(), server.base.replacing("http://", with: "https://"))
        let first = Task { await transport.failure(of: TransportRequest(url: url)) }
        await hasCome.wait()
        let second = TransportRequest(url: url, connectTimeout: .milliseconds(100))
        let error = await transport.failure(of: second)
        #expect(error?.code == .timedOut && error?.requestMayHaveBeenSent == false)
        await transport.close()
        #expect(await first.value?.code == .closed)
    }
}
#endif
