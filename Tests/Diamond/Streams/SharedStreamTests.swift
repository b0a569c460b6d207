import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A shared stream", .limit(minutes: 5)) struct SharedStreamTests {
    private let isAnswering = Gate()
    private let folder = TemporaryFolder()
    /// The number of requests to the server.
    private let asked = Guarded(0)

    private static let request = Request("http://h/large")

    /// The head is sent when the gate is open.
    private func engine(
        _ body: @escaping @Sendable () -> BodyStream,
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        let (isAnswering, asked) = (isAnswering, asked)
        configuration.transport = StubTransport { request throws(TransportError) in
            guard !request.url.hasSuffix("/small"), request.method != .delete else { return .stub() }
            asked.withLock { $0 += 1 }
            await isAnswering.wait()
            let status: HTTPResponse.Status = request.url.hasSuffix("/missing") ? .notFound : .ok
            return TransportResponse(status: status, headers: [:], body: body())
        }
        configuration.retry = .never
        change(&configuration)
        return Engine(configuration)
    }

    private func engine(_ text: String = "body", _ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        engine({ BodyStream(Data(text.utf8)) }, change)
    }

    private static func all(_ response: StreamedResponse) async throws -> Data {
        var body = Data()
        for try await piece in response.bytes { body += piece }
        return body
    }

    private func reader(
        of request: Request = request,
        _ engine: Engine,
        limit: Int = .max,
        sharing: Bool = true
    ) -> Task<Data, any Error> {
        Task { try await Self.all(engine.stream(request, limit: limit, sharing: sharing)) }
    }

    /// Several readers that wait for one head.
    private func readers(_ count: Int, _ engine: Engine, of request: Request = request) async -> [Task<Data, any Error>]
    {
        let tasks = (0..<count).map { _ in reader(of: request, engine) }
        await untilTrue { engine.sharedStreams.waiting == count }
        return tasks
    }

    private func ends(_ engine: Engine, _ recorder: ActivityRecorder) async {
        await untilTrue {
            engine.lanes.running == 0 && engine.activity.counts.isIdle && recorder.isBalanced
                && engine.sharedStreams.waiting == 0
        }
        await engine.close()
    }

    // MARK: Sharing

    @Test(arguments: [1, 2, 5])
    func `is requested once, and all readers receive the whole body`(count: Int) async throws {
        let text = String(repeating: "abc", count: 1000)
        let engine = engine(text)
        let recorder = ActivityRecorder(engine.activity)
        let tasks = await readers(count, engine)
        isAnswering.open()
        for task in tasks { #expect(try await task.value == Data(text.utf8)) }
        #expect(asked.withLock { $0 } == 1)
        await ends(engine, recorder)
    }

    @Test func `an error response to a shared stream is delivered with its body to all readers`() async throws {
        let engine = engine("not here")
        let tasks = await readers(3, engine, of: Request("http://h/missing"))
        isAnswering.open()
        for task in tasks { #expect(try await task.value == Data("not here".utf8)) }
        #expect(asked.withLock { $0 } == 1)
        await engine.close()
    }

    enum Other: CaseIterable { case url, header, post, reload, noStore, range, secret, limit, file, alone }

    @Test(arguments: Other.allCases) func `a stream is not shared with a different request`(other: Other) async throws {
        let file = try folder.file("x", Data("x".utf8))
        let engine = engine { $0.credentials = CountingProvider() }
        var (one, two) = (Self.request, Self.request)
        switch other {
        case .url: two.url = "http://h/other"
        case .header: two.headers[.accept] = "text/plain"
        case .post: (one.method, two.method) = (.post, .post)
        case .reload: (one.cache, two.cache) = (.reload, .reload)
        case .noStore: (one.cache, two.cache) = (.noStore, .noStore)
        case .range: (one.headers[.range], two.headers[.range]) = ("bytes=0-1", "bytes=0-2")
        case .secret:
            one.credentials = [.bearer(.secret("token"))]
            two.credentials = one.credentials
        case .file:
            (one.method, two.method) = (.query, .query)
            (one.body, two.body) = (.file(file, contentType: "text/plain"), .file(file, contentType: "text/plain"))
        case .limit, .alone: break
        }
        let tasks = [
            reader(of: one, engine),
            reader(of: two, engine, limit: other == .limit ? 100 : .max, sharing: other != .alone),
        ]
        // The server answers when both requests are there.
        await untilTrue { asked.withLock { $0 } == 2 }
        isAnswering.open()
        for task in tasks { #expect(try await task.value == Data("body".utf8)) }
        await engine.close()
    }

    @Test func `a stream is not shared by two users, nor after a user has signed in again`() async throws {
        let clerk = CountingProvider(user: Guarded("anna"))
        let engine = engine { $0.credentials = clerk }
        var tasks = [reader(engine)]
        await untilTrue { asked.withLock { $0 } == 1 }
        clerk.user.withLock { $0 = "bert" }
        tasks.append(reader(engine))
        await untilTrue { asked.withLock { $0 } == 2 }
        try await engine.forget(identity: "anna")
        clerk.user.withLock { $0 = "anna" }
        tasks.append(reader(engine))
        await untilTrue { asked.withLock { $0 } == 3 }
        isAnswering.open()
        for task in tasks { _ = try await task.value }
        #expect(asked.withLock { $0 } == 3)
        await engine.close()
    }

    @Test(arguments: [nil, "anna"], [false, true])
    func `asks once for each reader's identity`(user: String?, hasSecret: Bool) async throws {
        let clerk = CountingProvider(user: Guarded(user))
        let engine = engine { $0.credentials = clerk }
        var request = Self.request
        // A stream with a secret is shared only if it has an identity.
        if hasSecret { request.credentials = [.bearer(.secret("token"))] }
        let isShared = user != nil || !hasSecret
        let tasks = (0..<2).map { _ in reader(of: request, engine) }
        await untilTrue { isShared ? engine.sharedStreams.waiting == 2 : asked.withLock { $0 } == 2 }
        isAnswering.open()
        for task in tasks { #expect(try await task.value == Data("body".utf8)) }
        #expect(clerk.identities.withLock { $0 } == 2 && asked.withLock { $0 } == (isShared ? 1 : 2))
        await engine.close()
    }

    @Test(arguments: [false, true])
    func `a request sent after a DELETE of the same URL does not join an earlier stream`(hasCache: Bool) async throws {
        let temporary = TemporaryStore()
        let engine = engine { if hasCache { $0.store = temporary.store } }
        var tasks = await readers(1, engine)
        await untilTrue { asked.withLock { $0 } == 1 }
        _ = try await engine.send(Request("http://h/other", method: .delete))
        tasks.append(reader(engine))
        await untilTrue { engine.sharedStreams.waiting == 2 }
        _ = try await engine.send(Request("http://h/large", method: .delete))
        tasks.append(reader(engine))
        await untilTrue { asked.withLock { $0 } == 2 }
        // A later reader joins the second stream.
        tasks.append(reader(engine))
        await untilTrue { engine.sharedStreams.waiting == 2 }
        isAnswering.open()
        for task in tasks { #expect(try await task.value == Data("body".utf8)) }
        #expect(asked.withLock { $0 } == 2)
        await engine.close()
    }

    @Test func `a stream to which an interceptor adds a credential is not shared`() async throws {
        let signing = SigningInterceptor()
        var configuration = Engine.Configuration(store: nil)
        configuration.interceptors = [signing]
        configuration.transport = StubTransport { request throws(TransportError) in
            .stub(body: request.headers[.authorization] ?? "")
        }
        let engine = Engine(configuration)
        let recorder = ActivityRecorder(engine.activity)
        let tasks = await readers(4, engine)
        signing.mayGoOn.open()
        var tokens: Set<String> = []
        for task in tasks { tokens.insert(String(decoding: try await task.value, as: UTF8.self)) }
        #expect(tokens == ["Bearer 1", "Bearer 2", "Bearer 3", "Bearer 4"])
        await ends(engine, recorder)
    }

    @Test func `a stream is not joined after its head has arrived`() async throws {
        let engine = engine()
        isAnswering.open()
        let first = try await engine.stream(Self.request, sharing: true)
        #expect(engine.sharedStreams.waiting == 0)
        let second = try await engine.stream(Self.request, sharing: true)
        #expect(asked.withLock { $0 } == 2)
        for response in [first, second] { #expect(try await Self.all(response) == Data("body".utf8)) }
        await engine.close()
    }

    @Test func `a credential provider that requests the same stream does not wait for itself`() async throws {
        let asking = RequestingProvider()
        let engine = engine { $0.credentials = asking }
        asking.engine.withLock { $0 = engine }
        isAnswering.open()
        #expect(try await Self.all(engine.stream(RequestingProvider.request, sharing: true)) == Data("body".utf8))
        #expect(asked.withLock { $0 } == 2)
        await engine.close()
    }

    // MARK: Backpressure

    @Test func `waits for its slowest reader within its window`() async throws {
        let made = Guarded(0)
        let count = 64 << 20
        let engine = engine({ BodyStream(PatternStream(count: count) { made.withLock { $0 += Pattern.pieceSize } }) })
        async let one = engine.stream(Self.request, sharing: true)
        async let two = engine.stream(Self.request, sharing: true)
        await untilTrue { engine.sharedStreams.waiting == 2 }
        isAnswering.open()
        let (fast, slow) = (try await one, try await two)
        let read = Guarded(0)
        let reader = Task {
            var isExact = true
            for try await piece in fast.bytes {
                let start = read.withLock { $0 }
                if piece != Pattern.bytes(from: start, count: piece.count) { isExact = false }
                read.withLock { $0 += piece.count }
            }
            return isExact
        }
        await untilTrue { read.withLock { $0 } >= 1 << 20 }
        var before = 0
        repeat {
            before = made.withLock { $0 }
            // Time for another piece, if it were not held back.
            for _ in 0..<1000 { _ = try await engine.send(Request("http://h/small", cache: .noStore)) }
        } while made.withLock { $0 } > before
        // The window, a mebibyte in the transport, and pieces on their way.
        #expect(made.withLock { $0 } <= 6 << 20)
        #expect(read.withLock { $0 } <= 4 << 20)
        let body = try await Self.all(slow)
        #expect(body == Pattern.bytes(from: 0, count: count))
        #expect(try await reader.value)
        #expect(read.withLock { $0 } == count)
        await engine.close()
    }

    // MARK: Early ends

    @Test(arguments: [0, 1]) func `continues for the other reader when one is canceled before the head`(
        index: Int
    )
        async throws
    {
        let engine = engine()
        let recorder = ActivityRecorder(engine.activity)
        let tasks = await readers(2, engine)
        tasks[index].cancel()
        await #expect { try await tasks[index].value } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        #expect(engine.sharedStreams.waiting == 1)
        isAnswering.open()
        #expect(try await tasks[1 - index].value == Data("body".utf8))
        await ends(engine, recorder)
    }

    @Test func `continues for the other reader when one stops reading`() async throws {
        let count = 8 << 20
        let engine = engine({ BodyStream(PatternStream(count: count)) })
        let recorder = ActivityRecorder(engine.activity)
        let reader = reader(engine)
        let leaver = Task {
            for try await _ in try await engine.stream(Self.request, sharing: true).bytes { break }
        }
        await untilTrue { engine.sharedStreams.waiting == 2 }
        isAnswering.open()
        try await leaver.value
        #expect(try await reader.value == Pattern.bytes(from: 0, count: count))
        #expect(asked.withLock { $0 } == 1)
        await ends(engine, recorder)
    }

    @Test func `ends when its last reader is canceled, and the next reader starts another stream`()
        async throws
    {
        let engine = engine()
        let recorder = ActivityRecorder(engine.activity)
        let tasks = await readers(3, engine)
        for task in tasks { task.cancel() }
        for task in tasks {
            await #expect { try await task.value } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        }
        #expect(engine.sharedStreams.waiting == 0)
        let next = reader(engine)
        await untilTrue { engine.sharedStreams.waiting == 1 }
        isAnswering.open()
        #expect(try await next.value == Data("body".utf8))
        await ends(engine, recorder)
    }

    @Test func `cancels its exchange when its last reader is canceled`() async throws {
        let hasEnded = Gate()
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = StubTransport.silent { hasEnded.open() }
        let engine = Engine(configuration)
        let recorder = ActivityRecorder(engine.activity)
        let tasks = await readers(3, engine)
        await untilTrue { engine.lanes.running == 1 }
        for task in tasks {
            #expect(!hasEnded.isOpen)
            task.cancel()
        }
        await hasEnded.wait()
        await ends(engine, recorder)
    }

    @Test(arguments: [true, false])
    func `a failed shared stream fails for all readers, and the next reader starts another stream`(
        isBegun: Bool
    ) async throws {
        let isFailing = Guarded(true)
        var configuration = Engine.Configuration(store: nil)
        configuration.retry = .never
        configuration.transport = StubTransport { [isAnswering] request throws(TransportError) in
            await isAnswering.wait()
            let error = TransportError(.connectionLost, "gone", serverMayHaveActed: true)
            guard isFailing.withLock({ $0 }) else { return .stub(body: "body") }
            guard isBegun else { throw error }
            let pieces = AsyncThrowingStream<Data, any Error> { stream in
                stream.yield(Data("bo".utf8))
                stream.finish(throwing: error)
            }
            return TransportResponse(status: .ok, headers: [:], body: BodyStream(pieces))
        }
        let engine = Engine(configuration)
        let recorder = ActivityRecorder(engine.activity)
        let tasks = await readers(3, engine)
        isAnswering.open()
        for task in tasks {
            await #expect { try await task.value } throws: { ($0 as? ConnectionError)?.code == .connectionLost }
        }
        isFailing.withLock { $0 = false }
        #expect(try await reader(engine).value == Data("body".utf8))
        await ends(engine, recorder)
    }

    @Test func `is complete for each remaining reader, however many others are canceled`() async throws {
        let text = String(repeating: "0123456789", count: 20_000)
        let engine = engine(text)
        let recorder = ActivityRecorder(engine.activity)
        isAnswering.open()
        var random = SystemRandomNumberGenerator()
        for _ in 0..<50 {
            let tasks = (0..<20).map { _ in (reader(engine), Bool.random(using: &random)) }
            for (task, leaves) in tasks where leaves { task.cancel() }
            for (task, leaves) in tasks {
                do { #expect(try await task.value == Data(text.utf8)) } catch { #expect(leaves) }
            }
        }
        await ends(engine, recorder)
    }
}

private struct CountingProvider: CredentialProvider {
    var user = Guarded<String?>(nil)
    /// The number of calls for a secret.
    let identities = Guarded(0)

    func identity(for request: Request) async throws -> String? {
        identities.withLock { $0 += 1 }
        return user.withLock { $0 }
    }
    func secret(_ name: String, for identity: String?) async throws -> String? { "s3cret" }
}

/// Sends an equal request during its call, once.
private struct RequestingProvider: CredentialProvider {
    let engine = Guarded<Engine?>(nil)

    static var request: Request {
        var request = Request("http://h/")
        request.credentials = [.bearer(.secret("token"))]
        return request
    }

    func identity(for request: Request) async throws -> String? { "anna" }

    func secret(_ name: String, for identity: String?) async throws -> String? {
        let engine = engine.withLock { engine in
            defer { engine = nil }
            return engine
        }
        _ = try await engine?.stream(Self.request, sharing: true)
        return "s3cret"
    }
}
