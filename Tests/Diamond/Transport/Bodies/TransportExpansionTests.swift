import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A decompression bomb", .limit(minutes: 10)) struct TransportExpansionTests {
    @Test(arguments: TransportKind.allCases)
    func `fails when it has grown out of proportion, long before the limit`(kind: TransportKind)
        async throws
    {
        let server = try GzipBomb.server()
        try await kind.run { transport, _ in
            try await kind.withShortcoming(.refusedCoding) {
                let response = try await transport.send(TransportRequest(url: server.base))
                let error = await #expect(throws: TransportError.self) {
                    try await response.body.collect(limit: 64 << 20)
                }
                #expect(error?.code == .bodyTooLarge && error?.serverMayHaveActed == true)
                kind.withShortcoming(.unseenExpansion) {
                    #expect(error?.message.contains("times its bytes on the wire") == true)
                }
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `also fails where it is read piece by piece`(kind: TransportKind) async throws {
        let server = try GzipBomb.server()
        try await kind.run { transport, _ in
            try await kind.withShortcoming(.unseenExpansion, isHanging: true) {
                try await kind.withShortcoming(.refusedCoding) {
                    let response = try await transport.send(TransportRequest(url: server.base))
                    var received = 0
                    let error = await #expect(throws: TransportError.self) {
                        for try await piece in response.body { received += piece.count }
                    }
                    #expect(error?.code == .bodyTooLarge && received < 32 << 20)
                }
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `the body limit applies to the decoded size of a coded body`(kind: TransportKind) async throws {
        let server = try GzipBomb.server()
        try await kind.run { transport, _ in
            var configuration = Engine.Configuration(store: nil)
            configuration.transport = transport
            let engine = Engine(configuration)
            var request = Request(server.base)
            request.bodyLimit = 1 << 20
            let error = await #expect(throws: ConnectionError.self) { try await engine.send(request) }
            #expect(error?.attempts.count == 1)
            kind.withShortcoming(.refusedCoding) { #expect(error?.code == .bodyTooLarge) }
        }
    }

    @Test(arguments: [
        (4 << 20, 0, false), (4 << 20 + 1, 0, true), (25_000_000, 100_000, false), (25_000_001, 100_000, true),
    ])
    func `a growth is out of proportion if it exceeds both 250 times the received bytes and 4 MiB`(
        decoded: Int, encoded: Int, isBomb: Bool
    ) {
        var expansion = Expansion()
        expansion.add(decoded - 1)
        expansion.add(1)
        #expect(expansion.isBomb(of: encoded) == isBomb)
    }
}
