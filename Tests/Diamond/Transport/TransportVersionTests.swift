import Diamond
import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@Suite("The version of TLS", .limit(minutes: 5)) struct TransportVersionTests {
    @Test(arguments: TransportKind.allCases)
    func `the least version of TLS is 1.2 by default`(kind: TransportKind) async throws {
        let hello = Guarded<[UInt8]>([])
        let server = try RawServer { connection in
            guard let record = connection.read(5), let body = connection.read(Int(record[3]) << 8 | Int(record[4]))
            else { return }
            hello.withLock { $0 = body }
        }
        try await kind.run { transport, _ in
            let url = server.base.replacing("http://", with: "https://")
            _ = await transport.failure(of: TransportRequest(url: url))
        }
        // The extension supported_versions (RFC 8446 section 4.2.1): its type, its length, and the list of versions.
        let bytes = hello.withLock { $0 }
        let list = bytes.indices.first { index in
            bytes[index...].starts(with: [0, 43, 0]) && bytes.count > index + 4
                && bytes[index + 3] == bytes[index + 4] + 1
        }
        let start = try #require(list) + 5
        let versions = bytes[start..<start + Int(bytes[start - 1])]
        #expect(versions.contains(4))
        kind.withShortcoming(.oldTLS) { #expect(!versions.contains(2) && !versions.contains(1)) }
    }
}
