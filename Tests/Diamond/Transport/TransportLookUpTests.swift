#if os(Linux)
import Diamond
import DiamondTestSupport
import HTTPTypes
import Testing

@Suite("A name lookup that hangs", .limit(minutes: 5)) struct TransportLookUpTests {
    @Test(arguments: TransportKind.allCases)
    func `a hanging lookup ends at once when its exchange is canceled, and does not block other exchanges`(
        kind: TransportKind
    ) async throws {
        try await kind.run { transport, server in
            let name = SlowName()
            let task = Task { await transport.failure(of: TransportRequest(url: "http://\(name.host)/")) }
            await name.lookUpHasBegun()
            // While it hangs …
            let meanwhile = try await transport.get(server.url("wire/status/204"))
            #expect(meanwhile.head.status == .noContent)
            task.cancel()
            let error = await task.value
            #expect(error?.code == .cancelled)
            kind.withShortcoming(.unseenConnection) { #expect(error?.serverMayHaveActed == false) }
            // … and after it was given up.
            try await kind.withShortcoming(.lookUpGivenUp, isHanging: true) {
                let later = try await transport.get(server.url("wire/status/204"))
                #expect(later.head.status == .noContent)
            }
            name.release()
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a hanging lookup does not delay closing its transport`(kind: TransportKind) async throws {
        let name = SlowName()
        let transport = kind.make()
        let task = Task { await transport.failure(of: TransportRequest(url: "http://\(name.host)/")) }
        await name.lookUpHasBegun()
        await transport.close()
        #expect(await task.value?.code == .closed)
        name.release()
    }

    @Test(arguments: TransportKind.allCases)
    func `a hanging lookup ends at the connect timeout`(kind: TransportKind) async throws {
        try await kind.run { transport, _ in
            let name = SlowName()
            let url = "http://\(name.host)/"
            let request = TransportRequest(url: url, connectTimeout: .milliseconds(300), timeout: .seconds(3))
            let error = await transport.failure(of: request)
            #expect(error?.code == .timedOut)
            kind.withShortcoming(.unseenConnection) {
                #expect(error?.message.contains("no connection in time") == true)
                #expect(error?.serverMayHaveActed == false)
            }
            name.release()
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a failed lookup is an error, and nothing was sent`(kind: TransportKind) async throws {
        try await kind.run { transport, _ in
            let name = SlowName()
            name.release()
            let error = await transport.failure(of: TransportRequest(url: "http://\(name.host)/"))
            #expect(error?.code == .cannotResolveHost)
            #expect(error?.serverMayHaveActed == false)
        }
    }
}
#endif
