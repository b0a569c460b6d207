import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A streamed response", .limit(minutes: 5)) struct StreamTests {
    private let temporary = TemporaryStore()

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.draw = { 0 }
        configuration.clock = TestClock()
        change(&configuration)
        return Engine(configuration)
    }

    private func all(_ response: StreamedResponse) async throws -> String {
        var body = Data()
        for try await piece in response.bytes { body += piece }
        return String(decoding: body, as: UTF8.self)
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    // MARK: Bytes

    @Test(arguments: TransportKind.allCases)
    func `is read while it is written, and holds its permit until it has ended`(kind: TransportKind)
        async throws
    {
        let isRead = DispatchSemaphore(value: 0)
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(Self.chunked + "1\r\na\r\n")
            isRead.wait()
            connection.write("1\r\nb\r\n0\r\n\r\n")
        }
        let engine = engine { $0.transport = kind.make() }
        let recorder = ActivityRecorder(engine.activity)
        // However slow the machine is: the server waits for this.
        let response = try await engine.stream(Request(server.base, timeout: nil))
        #expect(response.status == .ok && response.source == .network && response.attempts.isEmpty)
        #expect(response.url == server.base + "/")
        var pieces = response.bytes.makeAsyncIterator()
        #expect(try await pieces.next() == Data("a".utf8))
        #expect(engine.lanes.running == 1 && engine.activity.counts.inFlight == 1)
        isRead.signal()
        #expect(try await pieces.next() == Data("b".utf8))
        #expect(try await pieces.next() == nil)
        #expect(engine.lanes.running == 0 && recorder.isBalanced)
        let lines = ["request began", "miss", "attempt 1 began", "attempt 1 ended 200", "request ended 200 network"]
        #expect(recorder.lines == lines)
        await engine.close()
    }

    @Test(arguments: TransportKind.allCases)
    func `is read byte by byte`(kind: TransportKind) async throws {
        let text = String(repeating: "abcdefghij", count: 50)
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(Self.chunked)
            for byte in text.utf8 { connection.write(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
            connection.write("0\r\n\r\n")
        }
        let engine = engine { $0.transport = kind.make() }
        #expect(try await all(engine.stream(Request(server.base))) == text)
        await engine.close()
    }

    @Test func `is read from the wire no faster than it is consumed`() async throws {
        let asked = Guarded(0)
        let transport = StubTransport { request throws(TransportError) in
            guard request.url.hasSuffix("/large") else { return .stub() }
            let pieces = PatternStream(count: 64 << 20) { asked.withLock { $0 += Pattern.pieceSize } }
            return TransportResponse(status: .ok, headers: [:], body: BodyStream(pieces))
        }
        let engine = engine { $0.transport = transport }
        let response = try await engine.stream(Request("http://h/large"))
        var pieces = response.bytes.makeAsyncIterator()
        #expect(try await pieces.next() != nil)
        // Time for all of it, if it were not held back.
        for _ in 0..<1000 { _ = try await engine.send(Request("http://h/", cache: .noStore)) }
        // A mebibyte is read, one waits in the transport, and one between that and the consumer.
        let count = asked.withLock { $0 }
        #expect(count <= 4 << 20, "\(count)")
        // It has not been released meanwhile.
        #expect(try await pieces.next() != nil)
        await engine.close()
    }

    // MARK: Early ends

    @Test(arguments: TransportKind.allCases)
    func `ends when it is released in the middle`(kind: TransportKind) async throws {
        let isLeft = Gate()
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(Self.chunked + "1\r\na\r\n")
            _ = connection.readRest()
            isLeft.open()
        }
        let engine = engine {
            $0.transport = kind.make()
            $0.originWidth = 1
        }
        let recorder = ActivityRecorder(engine.activity)
        for try await piece in try await engine.stream(Request(server.base)).bytes {
            #expect(piece == Data("a".utf8))
            break
        }
        await isLeft.wait()
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle && recorder.isBalanced }
        await engine.close()
    }

    @Test func `ends when its loop is left, also while it is retained`() async throws {
        let server = try ScriptedServer([.init(headers: ["Content-Length: 5"], body: "a", isHeld: true)])
        let engine = engine()
        let response = try await engine.stream(Request(server.url))
        for try await piece in response.bytes {
            #expect(piece == Data("a".utf8))
            break
        }
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
        await #expect { _ = try await all(response) } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        await engine.close()
    }

    @Test func `ends when its response is released without reading the body`() async throws {
        let server = try ScriptedServer([.init(headers: ["Content-Length: 5"], body: "a", isHeld: true)])
        let engine = engine()
        #expect(try await engine.stream(Request(server.url)).status == .ok)
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
        await engine.close()
    }

    @Test(arguments: TransportKind.allCases)
    func `ends when the task that reads it is canceled`(kind: TransportKind) async throws {
        let (isReading, isLeft) = (Gate(), Gate())
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(Self.chunked + "1\r\na\r\n")
            _ = connection.readRest()
            isLeft.open()
        }
        let engine = engine { $0.transport = kind.make() }
        var request = Request(server.base)
        // On a busy machine the reader may wait longer than the default timeout.
        request.timeout = .seconds(600)
        let response = try await engine.stream(request)
        let reader = Task {
            for try await _ in response.bytes { isReading.open() }
        }
        await isReading.wait()
        reader.cancel()
        await #expect { try await reader.value } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        await isLeft.wait()
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
        await engine.close()
    }

    @Test func `ends when the task that waits for its head is canceled`() async throws {
        let isCanceled = Gate()
        let transport = StubTransport.silent { isCanceled.open() }
        let engine = engine { $0.transport = transport }
        let waiter = Task { try await engine.stream(Request("http://h/")) }
        await untilTrue { transport.requests.count == 1 }
        waiter.cancel()
        await #expect { _ = try await waiter.value } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        await isCanceled.wait()
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
        await engine.close()
    }

    @Test func `ends when its head arrives after the cancellation`() async throws {
        let gate = Gate()
        let transport = StubTransport { _ throws(TransportError) in
            await gate.wait()
            return .stub(body: "late")
        }
        let engine = engine { $0.transport = transport }
        let waiter = Task { try await engine.stream(Request("http://h/")) }
        await untilTrue { transport.requests.count == 1 }
        waiter.cancel()
        await #expect { _ = try await waiter.value } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        gate.open()
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
        await engine.close()
    }

    @Test func `waits for its permit, and leaves the queue when it is canceled`() async throws {
        let server = try ScriptedServer([.init(headers: ["Content-Length: 5"], body: "a", isHeld: true)])
        let engine = engine { $0.width = 1 }
        let first = try await engine.stream(Request(server.url))
        let second = Task { try await engine.stream(Request(server.url)) }
        await untilTrue { engine.lanes.waiting == 1 }
        second.cancel()
        await #expect { _ = try await second.value } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        await untilTrue { engine.lanes.waiting == 0 }
        #expect(server.count == 1 && first.status == .ok)
        await engine.close()
    }

    @Test(arguments: TransportKind.allCases)
    func `a broken stream fails, and is not sent again`(kind: TransportKind) async throws {
        let server = try ScriptedServer([
            .init(headers: ["Transfer-Encoding: chunked"], body: "1\r\na\r\n"), .init(headers: ["Content-Length: 0"]),
        ])
        let engine = engine { $0.transport = kind.make() }
        let response = try await engine.stream(Request(server.url))
        do {
            for try await piece in response.bytes { #expect(piece == Data("a".utf8)) }
            Issue.record("it came whole")
        } catch {
            #expect(error.code == .connectionLost && error.attempts.map(\.reason?.code) == [.committed])
        }
        #expect(server.count == 1 && engine.lanes.running == 0 && engine.activity.counts.isIdle)
        await engine.close()
    }

    // MARK: Requests

    @Test func `is retried after responses with status 503`() async throws {
        let busy = ScriptedServer.Answer(status: 503, headers: ["Content-Length: 4"], body: "busy")
        let server = try ScriptedServer([busy, busy, .init(headers: ["Content-Length: 2"], body: "ok")])
        let engine = engine()
        let response = try await engine.stream(Request(server.url))
        #expect(response.attempts.map(\.outcome) == [503, 503, 200].map { .answered(.init(code: $0)) })
        #expect(try await all(response) == "ok")
        await engine.close()
    }

    @Test func `a stream with an error status delivers the whole body of the response, and holds no permit`()
        async throws
    {
        let server = try ScriptedServer([.init(status: 404, headers: ["Content-Length: 2"], body: "no")])
        let engine = engine()
        let response = try await engine.stream(Request(server.url))
        #expect(response.status == .notFound && engine.lanes.running == 0)
        #expect(try await all(response) == "no")
        await engine.close()
    }

    @Test func `reads no more of an error response than a mebibyte`() async throws {
        let count = Transfer.nonSuccessBodyLimit + 1
        let transport = StubTransport(status: 404, body: String(repeating: "a", count: count))
        let engine = engine { $0.transport = transport }
        await #expect { _ = try await engine.stream(Request("http://h/")) } throws: {
            ($0 as? ConnectionError)?.code == .bodyTooLarge
        }
        await engine.close()
    }

    @Test func `follows redirects with the engine's headers and interceptors`() async throws {
        struct SigningInterceptor: Interceptor {
            func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
                request.headers[.authorization] = "signed \(attempt)"
            }
        }
        let server = try ScriptedServer([
            .init(status: 302, headers: ["Location: /b", "Content-Length: 0"]),
            .init(headers: ["Content-Length: 2"], body: "ok"),
        ])
        let engine = engine {
            $0.baseURL = server.url
            $0.headers = [.userAgent: "Test"]
            $0.interceptors = [SigningInterceptor()]
        }
        let response = try await engine.stream(Request("a"))
        #expect(response.url == server.url + "b")
        #expect(try await all(response) == "ok")
        #expect(server.values(of: .userAgent) == ["Test", "Test"])
        #expect(server.values(of: .authorization) == ["signed 1", "signed 1"])
        await engine.close()
    }

    @Test func `a stream's response is passed to interceptors only if it is an error, whose body is complete`()
        async throws
    {
        struct RecordingInterceptor: Interceptor {
            let seen: Guarded<[String]>

            func validate(_ response: Response) async throws {
                seen.withLock { $0.append("validate \(response.status.code) \(response.text)") }
            }

            func transform(_ response: inout Response) async throws { response.body = Data("mended".utf8) }
        }
        let server = try ScriptedServer([
            .init(headers: ["Content-Length: 2"], body: "ok"),
            .init(status: 404, headers: ["Content-Length: 2"], body: "no"),
        ])
        let seen = Guarded<[String]>([])
        let engine = engine { $0.interceptors = [RecordingInterceptor(seen: seen)] }
        #expect(try await all(engine.stream(Request(server.url))) == "ok")
        #expect(try await all(engine.stream(Request(server.url))) == "mended")
        #expect(seen.withLock { $0 } == ["validate 404 no"])
        await engine.close()
    }

    @Test func `is not stored`() async throws {
        let engine = engine { $0.transport = StubTransport(headers: [.cacheControl: "max-age=86400"]) }
        _ = try await all(engine.stream(Request("http://h/")))
        #expect(try await engine.send(Request("http://h/")).source == .network)
        await engine.close()
    }

    @Test func `a stream of an unsafe method invalidates the stored response of its URL`() async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=86400"])
        let engine = engine { $0.transport = transport }
        _ = try await engine.send(Request("http://h/"))
        _ = try await all(engine.stream(Request("http://h/", method: .post)))
        #expect(try await engine.send(Request("http://h/")).source == .network)
        await engine.close()
    }

    @Test func `a stream's head closes a circuit breaker`() async throws {
        let clock = TestClock()
        let failing = ScriptedServer.Answer(status: 500, headers: ["Content-Length: 0"])
        let server = try ScriptedServer([
            failing, .init(headers: ["Content-Length: 5"], body: "a", isHeld: true),
            .init(headers: ["Content-Length: 2"], body: "ok"),
        ])
        let engine = engine {
            $0.clock = clock
            $0.retry = .never
            $0.circuit = CircuitPolicy(minimumCalls: 1, openTime: .seconds(5))
        }
        #expect(try await engine.send(Request(server.url)).status == .internalServerError)
        await #expect { try await engine.send(Request(server.url)) } throws: {
            ($0 as? ConnectionError)?.code == .circuitOpen
        }
        clock.advance(by: .seconds(5))
        let probe = try await engine.stream(Request(server.url))
        #expect(try await engine.send(Request(server.url)).text == "ok" && probe.status == .ok)
        await engine.close()
    }

    // MARK: Limits

    @Test(arguments: [
        (["Content-Length: 5"], "01234"), (["Transfer-Encoding: chunked"], "5\r\n01234\r\n0\r\n\r\n"),
    ]) func `is no larger than the caller allows`(headers: [String], body: String) async throws {
        let server = try ScriptedServer([.init(headers: headers, body: body)])
        let engine = engine { $0.bodyLimit = 1 }
        #expect(try await all(engine.stream(Request(server.url), limit: 5)) == "01234")
        await #expect { _ = try await all(engine.stream(Request(server.url), limit: 4)) } throws: {
            ($0 as? ConnectionError)?.code == .bodyTooLarge
        }
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
        await engine.close()
    }

    @Test func `has no attempt timeout or deadline after its head has arrived`() async throws {
        let (clock, isRead) = (TestClock(), DispatchSemaphore(value: 0))
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(Self.chunked)
            isRead.wait()
            connection.write("1\r\na\r\n0\r\n\r\n")
        }
        let engine = engine { $0.clock = clock }
        var request = Request(server.base, timeout: nil)
        request.retry = RetryPolicy(attemptTimeout: .seconds(1), deadline: .seconds(2))
        let response = try await engine.stream(request)
        await untilTrue { clock.sleeping.isEmpty }
        clock.advance(by: .seconds(10))
        isRead.signal()
        #expect(try await all(response) == "a")
        await engine.close()
    }

    @Test func `fails where its head does not arrive in time`() async throws {
        let clock = TestClock()
        let engine = engine {
            $0.clock = clock
            $0.transport = StubTransport.silent()
        }
        var request = Request("http://h/")
        request.retry = RetryPolicy(attempts: 1, attemptTimeout: .seconds(1))
        let waiter = Task { [request] in try await engine.stream(request) }
        await untilTrue { clock.sleeping == [.seconds(1)] }
        clock.advance(by: .seconds(1))
        await #expect { _ = try await waiter.value } throws: { ($0 as? ConnectionError)?.code == .timedOut }
        await engine.close()
    }

    @Test(arguments: [
        RetryPolicy(attempts: 1, attemptTimeout: .seconds(1)), RetryPolicy(attempts: 1, deadline: .seconds(1)),
    ]) func `fails where its head arrives at its deadline, and its body is canceled`(
        policy: RetryPolicy
    ) async throws {
        let clock = TestClock()
        let canceled = TransportError(.cancelled, "canceled", serverMayHaveActed: true)
        let transport = StubTransport { _ throws(TransportError) in
            for await _ in AsyncStream<Void>.makeStream().stream {}
            return TransportResponse(status: .ok, headers: [:], body: BodyStream(PieceSequence([], failure: canceled)))
        }
        let engine = engine { ($0.clock, $0.transport) = (clock, transport) }
        var request = Request("http://h/")
        request.retry = policy
        let waiter = Task { [request] in try await engine.stream(request) }
        await untilTrue { clock.sleeping == [.seconds(1)] && transport.requests.count == 1 }
        clock.advance(by: .seconds(1))
        await #expect { _ = try await waiter.value } throws: { ($0 as? ConnectionError)?.code == .timedOut }
        await engine.close()
    }
}
