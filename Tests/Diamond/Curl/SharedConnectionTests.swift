#if Curl && os(Linux)
import DiamondSQLite
import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A connection during its setup", .limit(minutes: 5)) struct SharedConnectionTests {
    #if AsyncHTTPClient
    @Test(.enabled(if: TLSServer.executable != nil))
    func `requests wait for a connection during its setup, and share it over HTTP/2`() async throws {
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

    /// The first connection turns out to be HTTP/1.1, which cannot be shared. No other request waits for its response.
    @Test(.enabled(if: TLSServer.executable != nil)) func `concurrent requests over HTTP/1.1 use several connections`()
        async throws
    {
        let identity = try await TLSServer.Identity()
        let server = try await HTTPSServer(identity, answersAt: 6)
        var settings = TransportSettings()
        settings.tls.roots = .only(identity.certificate)
        let transport = try CurlTransport(settings)
        for _ in 0..<2 {
            try await withThrowingTaskGroup { group in
                for _ in 0..<6 { group.addTask { _ = try await transport.get(server.base) } }
                try await group.waitForAll()
            }
        }
        await transport.close()
    }

    @Test(.enabled(if: TLSServer.executable != nil))
    func `holds up no request to another server`() async throws {
        let hasCome = Gate()
        let deaf = try RawServer { connection in
            guard connection.read(1) != nil else { return }
            hasCome.open()
            _ = connection.readRest()
        }
        let url = deaf.base.replacing("http://", with: "https://")
        try await TransportKind.curl.runOverHTTP2 { exchange in
            exchange.answer("")
        } _: { transport, server in
            let stuck = (0..<6).map { _ in Task { await transport.failure(of: TransportRequest(url: url)) } }
            await hasCome.wait()
            try await withThrowingTaskGroup { group in
                for _ in 0..<6 { group.addTask { _ = try await transport.get(server.base) } }
                try await group.waitForAll()
            }
            for task in stuck {
                task.cancel()
                #expect(await task.value?.code == .cancelled)
            }
        }
    }

    @Test func `a failed connection is tried again by the next request in the queue`() async throws {
        let count = Guarded(0)
        // Ends every connection before its handshake.
        let server = try RawServer { connection in
            count.withLock { $0 += 1 }
            _ = connection.read(1)
        }
        let (transport, url) = (CurlTransport(), server.base.replacing("http://", with: "https://"))
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    let error = await transport.failure(of: TransportRequest(url: url))
                    #expect(error?.serverMayHaveActed == false)
                }
            }
        }
        #expect(count.withLock { $0 } == 4)
        await transport.close()
    }
    #endif

    /// The first request has no limit; the second one sends nothing in its time.
    @Test func `a request waits for a connection's setup no longer than connectTimeout`() async throws {
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
        #expect(error?.code == .timedOut && error?.serverMayHaveActed == false)
        await transport.close()
        #expect(await first.value?.code == .closed)
    }
}
#endif
