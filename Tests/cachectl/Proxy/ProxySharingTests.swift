import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@Suite("cachectl proxy shares", .limit(minutes: 10)) struct ProxySharingTests {
    private static let size = 3 << 20

    /// An origin that sends the beginning of a body, and the rest after a signal. It counts its requests.
    private static func origin(control: String, next: DispatchSemaphore, count: Guarded<Int>) throws -> RawServer {
        try RawServer { connection in
            guard connection.readHead() != nil else { return }
            count.withLock { $0 += 1 }
            connection.write("HTTP/1.1 200 OK\r\nCache-Control: \(control)\r\nContent-Length: \(size)\r\n\r\nfirst")
            next.wait()
            next.signal()
            connection.write([UInt8](repeating: 0x78, count: size - 5))
        }
    }

    private func clients(_ count: Int, of proxy: RunningProxy) throws -> [RawClient] {
        try (0..<count).map { number in
            try proxy.client(
                sending: "GET /a HTTP/1.1\r\nHost: x\r\nUser-Agent: \(number)\r\nConnection: close\r\n\r\n")
        }
    }

    @Test(arguments: ["--shared", "--private"])
    func `one response of the origin among 50 clients, while it is received`(kind: String) async throws {
        let (next, count) = (DispatchSemaphore(value: 0), Guarded(0))
        let origin = try Self.origin(control: "max-age=60", next: next, count: count)
        let proxy = try await RunningProxy(origin.base, kind)
        let clients = try clients(50, of: proxy)
        for client in clients { #expect(await client.read(through: "first").hasSuffix("\r\n\r\nfirst")) }
        next.signal()
        // Those that read last are far behind, and read the store.
        for client in clients { #expect(await client.count() == Self.size - 5) }
        #expect(count.withLock { $0 } == 1)
    }

    @Test func `no response that must not be stored`() async throws {
        let (next, count) = (DispatchSemaphore(value: 0), Guarded(0))
        let origin = try Self.origin(control: "no-store", next: next, count: count)
        let proxy = try await RunningProxy(origin.base)
        let clients = try clients(5, of: proxy)
        for client in clients { #expect(await client.read(through: "first").hasSuffix("\r\n\r\nfirst")) }
        next.signal()
        for client in clients { #expect(await client.count() == Self.size - 5) }
        #expect(count.withLock { $0 } == 5)
    }
}
