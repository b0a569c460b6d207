import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

/// Runs alone, because Foundation on Linux runs every URLSession of the process on one thread: a name lookup of
/// another test would count as a standstill.
@Suite(
    "The timeout of a transport", .serialized,
    .enabled(if: Effort.isAlone, "counts real time: scripts/test runs it alone"), .limit(minutes: 5))
struct TransportTimeTests {
    private static let timeout = Duration.milliseconds(300)
    /// For exchanges that must not time out: longer than a busy machine ever stands still.
    private static let patience = Duration.seconds(2)

    private func request(_ url: String, timeout: Duration = timeout) -> TransportRequest {
        TransportRequest(url: url, timeout: timeout)
    }

    /// Not before its time, and not rounded up by two seconds.
    private func expectTimeout(_ body: () async -> TransportError?) async {
        let start = ContinuousClock.now
        let error = await body()
        let elapsed = ContinuousClock.now - start
        #expect(error?.code == .timedOut)
        #expect(elapsed >= Self.timeout)
        #expect(elapsed < .seconds(5))
    }

    @Test(arguments: TransportKind.allCases)
    func `a timeout ends an exchange without a head`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            await expectTimeout {
                let error = await transport.failure(of: request(server.url("wire/hang")))
                #expect(error?.message.contains("no whole head in 300 ms") == true)
                return error
            }
        }
    }

    /// Bytes and lines that come more often than the timeout: none of them is progress.
    @Test(
        arguments: TransportKind.allCases,
        [
            ("", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Name: \(String(repeating: "a", count: 40))\r\n\r\n", 1),
            ("", String(repeating: "HTTP/1.1 103 Early\r\n\r\n", count: 60), 22),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", String(repeating: "X: y\r\n", count: 60), 6),
        ])
    func `a timeout ends an exchange whose head or trailers arrive too slowly`(
        kind: TransportKind, answer: (begin: String, rest: String, size: Int)
    ) async throws {
        let server = try RawServer { connection in
            guard connection.readHead() != nil, connection.write(answer.begin) else { return }
            var rest = Array(answer.rest.utf8)[...]
            while !rest.isEmpty, connection.write(Array(rest.prefix(answer.size))) {
                rest = rest.dropFirst(answer.size)
                usleep(100_000)
            }
        }
        try await kind.run { transport, _ in
            let drip = { await expectTimeout { await transport.failure(of: request(server.base)) } }
            if answer.begin.isEmpty {
                await drip()
            } else {
                await kind.withShortcoming(.trailers, isHanging: true, drip)
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a timeout ends an exchange whose body stands still`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            await expectTimeout { await transport.failure(of: request(server.url("wire/hang-body"))) }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a timeout says that the request may have been sent`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let error = await transport.failure(of: request(server.url("wire/hang"), timeout: Self.patience))
            #expect(error?.serverMayHaveActed == true)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a timeout does not end an exchange that progresses`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let url = server.url("wire/slow?chunks=8&size=10&delay=400")
            let body = try await transport.exchange(request(url, timeout: Self.patience)).body
            #expect(body == Pattern.bytes(count: 80))
        }
    }

    /// The body is larger than the buffers on the way; a slow reader is no standstill.
    @Test(arguments: TransportKind.allCases)
    func `a timeout does not run while the reader pauses the body`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let count = 30 << 20
            let url = server.url("wire/bytes/\(count)")
            let response = try await transport.send(request(url, timeout: Self.patience))
            let (other, hanging) = (kind.make(), request(server.url("wire/hang"), timeout: Self.patience))
            for _ in 0..<2 { _ = await other.failure(of: hanging) }
            await other.close()
            var received = 0
            for try await piece in response.body { received += piece.count }
            #expect(received == count)
        }
    }

    /// Longer than the timeout, because a slow stream is no standstill either.
    @Test(arguments: TransportKind.allCases)
    func `a timeout does not run while the request's body is created`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
            var upload = request(server.url("wire/upload"), timeout: Self.patience)
            let hanging = request(server.url("wire/hang"), timeout: Self.patience)
            (upload.method, upload.body) = (.put, .stream(length: nil) { stream })
            let failure = Task { [upload] in await transport.failure(of: upload) }
            continuation.yield(Data("piece".utf8))
            for _ in 0..<2 { _ = await transport.failure(of: hanging) }
            continuation.finish()
            let error = await failure.value
            #expect(error == nil, "\(String(describing: error))")
        }
    }
}
