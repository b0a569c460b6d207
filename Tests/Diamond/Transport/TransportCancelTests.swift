import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("A canceled exchange", .limit(minutes: 5)) struct TransportCancelTests {
    /// A server that signals when a request has arrived and when its client has gone.
    private struct ObservedServer {
        let hasCome = Gate()
        let hasGone = Gate()
        let server: RawServer

        init(answer: String = "") throws {
            server = try RawServer { [hasCome, hasGone] connection in
                _ = connection.readHead()
                connection.write(answer)
                hasCome.open()
                _ = connection.readRest()
                hasGone.open()
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `an exchange canceled before its start is never sent`(kind: TransportKind) async throws {
        try await kind.run { transport, _ in
            let url = try RawServer.refusedURL()
            let isCanceled = Gate()
            let task = Task {
                await isCanceled.wait()
                return await transport.failure(of: TransportRequest(url: url))
            }
            task.cancel()
            isCanceled.open()
            let error = await task.value
            #expect(error?.code == .cancelled)
            #expect(error?.serverMayHaveActed == false)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `ends on both sides while it waits for the head`(kind: TransportKind) async throws {
        let watched = try ObservedServer()
        try await kind.run { transport, _ in
            let task = Task { await transport.failure(of: TransportRequest(url: watched.server.base)) }
            await watched.hasCome.wait()
            task.cancel()
            let error = await task.value
            #expect(error?.code == .cancelled)
            #expect(error?.serverMayHaveActed == true)
            await watched.hasGone.wait()
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `ends on both sides in the body`(kind: TransportKind) async throws {
        let watched = try ObservedServer(answer: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        try await kind.run { transport, _ in
            let response = try await transport.send(TransportRequest(url: watched.server.base))
            var pieces = response.body.makeAsyncIterator()
            #expect(try await pieces.next() == Data("hello".utf8))
            let task = Task { await Self.failure(in: response.body) }
            task.cancel()
            #expect(await task.value?.code == .cancelled)
            await watched.hasGone.wait()
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `ends on both sides while its body is collected`(kind: TransportKind) async throws {
        let watched = try ObservedServer(answer: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        try await kind.run { transport, _ in
            let task = Task { await transport.failure(of: TransportRequest(url: watched.server.base)) }
            await watched.hasCome.wait()
            task.cancel()
            #expect(await task.value?.code == .cancelled)
            await watched.hasGone.wait()
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `ends on both sides in the request's body`(kind: TransportKind) async throws {
        let watched = try ObservedServer()
        try await kind.run { transport, _ in
            let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
            let hasEnded = Gate()
            continuation.onTermination = { _ in hasEnded.open() }
            let body = TransportBody.stream(length: nil) { stream }
            let request = TransportRequest(method: .put, url: watched.server.base, body: body)
            let task = Task { await transport.failure(of: request) }
            continuation.yield(Data("piece".utf8))
            await kind.withShortcoming(.streamedUpload, isHanging: true) { await watched.hasCome.wait() }
            task.cancel()
            #expect(await task.value?.code == .cancelled)
            await hasEnded.wait()
            await kind.withShortcoming(.streamedUpload, isHanging: true) { await watched.hasGone.wait() }
        }
    }

    /// Cancellations at any moment of an exchange: none may hang, crash, or hold up a later exchange.
    @Test(arguments: TransportKind.allCases)
    func `an exchange may be canceled at any moment`(kind: TransportKind) async throws {
        try await kind.run { transport, server in
            await withTaskGroup { group in
                for index in 0..<400 {
                    let url = server.url("wire/bytes/\(index * 50)")
                    let task = Task { await transport.failure(of: TransportRequest(url: url)) }
                    group.addTask {
                        for _ in 0..<(index % 40) { await Task.yield() }
                        task.cancel()
                        let code = await task.value?.code
                        #expect(code == nil || code == .cancelled)
                    }
                }
            }
            let later = try await transport.get(server.url("wire/status/204"))
            #expect(later.head.status == .noContent)
        }
    }

    private static func failure(in body: BodyStream) async -> TransportError? {
        do {
            for try await _ in body {}
            return nil
        } catch {
            return error
        }
    }
}
