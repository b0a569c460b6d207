import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The progress of a connection", .limit(minutes: 10)) struct ConnectionProgressTests {
    private typealias Pieces = AsyncThrowingStream<Data, any Error>

    private let temporary = TemporaryStore()
    private let bodies = Guarded<[Pieces.Continuation]>([])

    /// Answers at once; the bodies follow when the test opens the gate.
    private func engine(_ headers: HTTPFields = [.contentLength: "6"], status: Int = 200) -> Engine {
        let transport = StubTransport { [bodies] _ throws(TransportError) in
            let (pieces, body) = Pieces.makeStream()
            bodies.withLock { $0.append(body) }
            var response = TransportResponse.stub(status: status, headers: headers)
            response.body = BodyStream(pieces)
            return response
        }
        // A response that announces more than the limit ends at once.
        return temporary.engine(transport) { $0.bodyLimit = .max }
    }

    private func body(_ index: Int = 0) async -> Pieces.Continuation {
        await untilTrue { [bodies] in bodies.withLock { $0.count } > index }
        return bodies.withLock { $0[index] }
    }

    private func file(_ size: Int) throws -> URL {
        try FileManager.default.createDirectory(
            at: temporary.directory, withIntermediateDirectories: true)
        let url = temporary.directory.appending(path: "upload")
        try Data(repeating: 7, count: size).write(to: url)
        return url
    }

    @Test func `progress reports received and expected bytes, from the present count to the end`() async throws {
        let connection = engine().start(Request("http://h/"))
        var progress = connection.progress.makeAsyncIterator()
        #expect(await progress.next()?.received == 0)
        let body = await body()
        body.yield(Data("ab".utf8))
        await until(connection) { $0 == TransferProgress(received: 2, expectedToReceive: 6) }
        // A late observer receives the present progress.
        let late = connection.progress
        body.yield(Data("cdef".utf8))
        body.finish()
        _ = try await connection.response
        var last: TransferProgress?
        while let next = await progress.next() { last = next }
        #expect(last == TransferProgress(received: 6, expectedToReceive: 6))
        #expect(await self.last(of: late)?.received == 6)
        #expect(await connection.progress.reduce(into: []) { $0.append($1.received) } == [6])
    }

    @Test func `progress accepts any number that a server announces`() async throws {
        let largest = "9223372036854775807"
        for (text, length, total) in [(largest, Int64.max, -1), ("-5", nil, 2), ("1" + largest, nil, 2)] {
            let engine = engine([.contentLength: text])
            let request = Request("http://h/", method: .post, body: .bytes(Data([1])))
            let connection = engine.connection(for: request)
            let progress = connection.foundationProgress
            engine.start(connection)
            await untilTrue { [bodies] in bodies.withLock { $0.count } == 1 }
            await until(connection) { $0.sent == 1 && $0.expectedToReceive == length }
            await untilTrue { progress.totalUnitCount == total }
            connection.cancel()
            bodies.withLock { $0.removeLast() }.finish()
            _ = try? await connection.response
        }
    }

    private func last(of progress: AsyncStream<TransferProgress>) async -> TransferProgress? {
        var last: TransferProgress?
        for await next in progress {
            #expect((last?.received ?? 0) <= next.received && (last?.sent ?? 0) <= next.sent)
            last = next
        }
        return last
    }

    @Test func `progress of a shared exchange is the same for all callers, including later callers`() async throws {
        let engine = engine()
        let first = engine.start(Request("http://h/"))
        let body = await body()
        body.yield(Data("abc".utf8))
        await until(first) { $0.received == 3 }
        let second = engine.start(Request("http://h/"))
        await until(second) { $0.received == 3 && $0.expectedToReceive == 6 }
        body.yield(Data("def".utf8))
        await until(first) { $0.received == 6 }
        await until(second) { $0.received == 6 }
        body.finish()
        #expect(try await second.response.text == "abcdef")
        #expect(bodies.withLock { $0.count } == 1)
    }

    private func until(_ connection: Connection, _ isThere: @Sendable (TransferProgress) -> Bool)
        async
    {
        for await progress in connection.progress where isThere(progress) { return }
        Issue.record("it never came so far")
    }

    @Test func `progress follows the newest attempt even if an older attempt is observed late`() async {
        let request = TransportRequest(url: "http://h/")
        let clock = ExchangeClock(ContinuousClock())
        let (first, second) = (TransferMeter(request, clock: clock), TransferMeter(request, clock: clock))
        first.receive(9)
        let watch = ProgressObserver(first)
        watch.follow(second)
        watch.listen(to: second)
        watch.listen(to: first)
        second.receive(3)
        var progress = watch.observe().makeAsyncIterator()
        #expect(await progress.next()?.received == 3)
        let other = ProgressObserver(first)
        other.listen(to: first)
        progress = other.observe().makeAsyncIterator()
        #expect(await progress.next()?.received == 9)
    }

    @Test func `progress begins again with the next attempt`() async throws {
        let clock = TestClock()
        var configuration = Engine.Configuration(store: nil)
        let attempts = Guarded(0)
        configuration.transport = StubTransport { _ throws(TransportError) in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            return .stub(status: attempt == 1 ? 503 : 200, body: attempt == 1 ? "a longer one" : "short")
        }
        configuration.clock = clock
        configuration.draw = { 0.5 }
        let connection = Engine(configuration).start(Request("http://h/"))
        await untilTrue { clock.sleeping.count == 1 }
        await until(connection) { $0.received == 12 }
        clock.advance(by: .seconds(1))
        _ = try await connection.response
        await until(connection) { $0.received == 5 }
    }

    @Test func `progress counts a streamed body as it is sent, and others when the response begins`() async throws {
        let (size, checkpoint) = (1_000_000, Checkpoint())
        let transport = StubTransport { request throws(TransportError) in
            guard case .stream(_, let make) = request.body else { return .stub() }
            do {
                for try await _ in make() {
                    await checkpoint.pass()
                }
            } catch { throw TransportError(.badRequestBody, "no", cause: error) }
            return .stub()
        }
        let engine = Engine.stub(transport)
        let upload = engine.start(Request("http://h/", method: .put, body: .file(try file(size))))
        await checkpoint.reached()
        await until(upload) { $0.sent == 256 << 10 && $0.expectedToSend == Int64(size) }
        checkpoint.open()
        _ = try await upload.response
        await until(upload) { $0.sent == Int64(size) }
        let other = engine.start(Request("http://h/", method: .put, body: .bytes(Data("12345".utf8))))
        _ = try await other.response
        await until(other) { $0 == TransferProgress(sent: 5, expectedToSend: 5, received: 4) }
    }

    @Test(
        arguments: [
            (.get, [.contentLength: "6", .contentEncoding: "x"]), (.get, [:]),
            (.get, [.contentLength: "much"]), (.head, [.contentLength: "6"]),
        ] as [(HTTPRequest.Method, HTTPFields)]) func `progress has no expected size if the response gives none`(
            method: HTTPRequest.Method, headers: HTTPFields
        ) async throws
    {
        let connection = engine(headers).start(Request("http://h/", method: method))
        let body = await body()
        body.finish()
        _ = try await connection.response
        await until(connection) { $0.expectedToReceive == nil }
    }

    @Test func `progress of a response from the cache stays at its start, and ends`() async throws {
        let engine = temporary.engine(
            StubTransport(headers: [.cacheControl: "max-age=3600"]), clock: ManualClock())
        _ = try await engine.send(Request("http://h/"))
        let connection = engine.start(Request("http://h/"))
        #expect(await connection.progress.reduce(into: []) { $0.append($1) }.last == TransferProgress())
        #expect(try await connection.response.source == .cache)
    }

    @Test func `progress is also a Foundation Progress, at first indeterminate and finally complete`() async throws {
        let engine = engine()
        let connection = engine.connection(for: Request("http://h/"))
        let progress = connection.foundationProgress
        #expect(progress.isIndeterminate && progress === connection.foundationProgress)
        engine.start(connection)
        let body = await body()
        body.yield(Data("abc".utf8))
        await untilTrue { progress.totalUnitCount == 6 && progress.completedUnitCount == 3 }
        #expect(progress.fractionCompleted == 0.5)
        body.yield(Data("def".utf8))
        body.finish()
        _ = try await connection.response
        await untilTrue { progress.isFinished }
        #expect(progress.totalUnitCount == 6)
    }

    @Test func `a cancel of Foundation's progress cancels the connection, and completes`() async throws {
        let connection = engine().start(Request("http://h/"))
        let progress = connection.foundationProgress
        _ = await body()
        progress.cancel()
        let error = await #expect(throws: ConnectionError.self) { try await connection.response }
        #expect(error?.code == .cancelled)
        await untilTrue { progress.isFinished && connection.isFinished }
        #expect(connection.foundationProgress === progress)
    }

    @Test(arguments: TransportKind.allCases) func `progress is reported over a real connection, in both directions`(
        kind: TransportKind
    ) async throws {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = kind.make()
        let engine = Engine(configuration)
        let server = try await SampleServer.shared
        let size = 3_000_000
        let download = engine.start(Request(server.url("wire/bytes/\(size)")))
        let upload = engine.start(
            Request(server.url("wire/upload"), method: .put, body: .file(try file(size))))
        let (downloaded, uploaded) = (await last(of: download.progress), await last(of: upload.progress))
        #expect(downloaded == TransferProgress(received: Int64(size), expectedToReceive: Int64(size)))
        #expect(uploaded?.sent == Int64(size) && uploaded?.expectedToSend == Int64(size))
        #expect(try await download.response.body.count == size)
        #expect(try await upload.response.text.contains("\(size)"))
        await engine.close()
    }
}
