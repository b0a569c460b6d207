import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@Suite("A client that leaves cachectl proxy", .limit(minutes: 5)) struct ProxyDepartureTests {
    /// An origin that reads a request, answers with a head or nothing, and then waits until the proxy closes the
    /// connection.
    private static func origin(_ arrived: Gate, _ left: Gate, beginning: String) throws -> RawServer {
        try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(beginning)
            arrived.open()
            _ = connection.readRest()
            left.open()
        }
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 9\r\n\r\nfirst"])
    func `ends the exchange with a silent origin`(beginning: String) async throws {
        let (arrived, left) = (Gate(), Gate())
        let origin = try Self.origin(arrived, left, beginning: beginning)
        let proxy = try await RunningProxy(origin.base)
        do {
            let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            await arrived.wait()
            if !beginning.isEmpty { _ = await client.read(through: "first") }
        }
        // The timeouts of the proxy would end the exchange after a minute.
        let start = ContinuousClock.now
        await left.wait()
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test func `ends the exchange with a silent origin after it has sent a body`() async throws {
        let (arrived, left) = (Gate(), Gate())
        let origin = try RawServer { connection in
            guard connection.readHead() != nil, connection.read(5) != nil else { return }
            arrived.open()
            _ = connection.readRest()
            left.open()
        }
        let proxy = try await RunningProxy(origin.base)
        do {
            let client = try proxy.client(sending: "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
            await arrived.wait()
            withExtendedLifetime(client) {}
        }
        let start = ContinuousClock.now
        await left.wait()
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test func `does not end a response that is being stored for others`() async throws {
        let next = DispatchSemaphore(value: 0)
        let count = Guarded(0)
        let origin = try RawServer { connection in
            while connection.readHead() != nil {
                count.withLock { $0 += 1 }
                connection.write("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 10\r\n\r\nfirst")
                next.wait()
                next.signal()
                connection.write(" last")
            }
        }
        let proxy = try await RunningProxy(origin.base)
        do {
            let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = await client.read(through: "first")
        }
        next.signal()
        var answer = try await proxy.send("GET /a")
        // The exchange may still be storing the end.
        while !answer.isHit, count.withLock({ $0 }) < 9 { answer = try await proxy.send("GET /a") }
        #expect(answer.body == "first last" && answer.isHit)
    }
}
