import Diamond
import DiamondTestSupport
import DiamondTesting
import Testing

@Suite("A silent transport", .limit(minutes: 5)) struct SilentTransportTests {
    @Test func `ends an exchange when it is canceled`() async throws {
        let transport = StubTransport.silent()
        let task = Task { try await transport.send(TransportRequest(url: "http://h/")) }
        await untilTrue { !transport.requests.isEmpty }
        task.cancel()
        let error = await #expect(throws: TransportError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }
}
