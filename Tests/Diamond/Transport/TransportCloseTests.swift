import Diamond
import DiamondTestSupport
import Testing

@Suite("A closed transport", .limit(minutes: 5)) struct TransportCloseTests {
    @Test(arguments: TransportKind.allCases)
    func `sends nothing`(kind: TransportKind) async throws {
        let server = try await SampleServer.shared
        for isUsed in [false, true] {
            let transport = kind.make()
            if isUsed { _ = try await transport.get(server.url("wire/status/204")) }
            await transport.close()
            let error = await transport.failure(of: TransportRequest(url: server.url("wire/status/204")))
            #expect(error?.code == .closed)
            #expect(error?.serverMayHaveActed == false)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `ends its exchanges, whether they wait for the head or read the body`(kind: TransportKind)
        async throws
    {
        let hasCome = Gate()
        let silent = try RawServer { connection in
            _ = connection.readHead()
            hasCome.open()
            _ = connection.readRest()
        }
        try await kind.run { transport, server in
            let response = try await transport.send(TransportRequest(url: server.url("wire/hang-body")))
            let waiting = Task { await transport.failure(of: TransportRequest(url: silent.base)) }
            await hasCome.wait()
            await transport.close()
            let error = await waiting.value
            #expect(error?.code == .closed)
            #expect(error?.serverMayHaveActed == true)
            await #expect {
                for try await _ in response.body {}
            } throws: { ($0 as? TransportError)?.code == .closed }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `may be closed again, and by several tasks at once`(kind: TransportKind) async throws {
        let server = try await SampleServer.shared
        let transport = kind.make()
        _ = try await transport.get(server.url("wire/status/204"))
        await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { await transport.close() } }
        }
        await transport.close()
    }

    @Test(arguments: TransportKind.allCases)
    func `a transport may be closed while other tasks send`(kind: TransportKind) async throws {
        let server = try await SampleServer.shared
        for round in 0..<20 {
            let transport = kind.make()
            await withTaskGroup { group in
                for _ in 0..<20 {
                    group.addTask {
                        let code = await transport.failure(of: TransportRequest(url: server.url("wire/bytes/100")))?
                            .code
                        #expect(code == nil || code == .closed)
                    }
                }
                for _ in 0..<round { await Task.yield() }
                await transport.close()
            }
        }
    }
}
