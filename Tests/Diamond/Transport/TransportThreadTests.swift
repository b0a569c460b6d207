import Diamond
import DiamondTestSupport
import Testing

#if Curl && os(Linux)
/// Runs alone, because it counts the threads of the process.
@Suite("The thread of a transport", .serialized, .limit(minutes: 5)) struct TransportThreadTests {
    @Test(arguments: [true, false])
    func `ends with it`(isClosed: Bool) async throws {
        let server = try await SampleServer.shared
        let before = ProcessUsage.threads(named: "diamond.curl")
        var transport: CurlTransport? = CurlTransport()
        _ = try await transport?.get(server.url("wire/status/204"))
        let own = ProcessUsage.threads(named: "diamond.curl").subtracting(before)
        #expect(!own.isEmpty)
        if isClosed { await transport?.close() }
        transport = nil
        await untilTrue { ProcessUsage.threads(named: "diamond.curl").isDisjoint(with: own) }
    }
}
#endif
