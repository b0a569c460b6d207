import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An upload of a body made on the way", .limit(minutes: 5)) struct UploadTests {
    /// The body received with each request; `nil` where there was none.
    private let arrived = Guarded<[String?]>([])
    /// The number of times the source was read.
    private let made = Guarded(0)

    private func engine(
        _ transport: any Transport,
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        configuration.draw = { 0 }
        configuration.clock = TestClock()
        change(&configuration)
        return Engine(configuration)
    }

    /// Returns a transport that reads each body and answers; the last answer is repeated from then on.
    private func transport(_ answers: (status: Int, headers: HTTPFields)...) -> StubTransport {
        let rest = Guarded(answers)
        return StubTransport { [arrived] request throws(TransportError) in
            let text = try await Self.text(of: request.body)
            arrived.withLock { $0.append(text) }
            let answer = rest.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            return .stub(status: answer.status, headers: answer.headers)
        }
    }

    private static func text(of body: TransportBody) async throws(TransportError) -> String? {
        switch body {
        case .none: return nil
        case .bytes(let data): return String(decoding: data, as: UTF8.self)
        case .stream(_, let make): return String(decoding: try await BodyStream(make()).collect(), as: UTF8.self)
        }
    }

    /// The letters of a text, one by one.
    private func source(_ text: String = "abc", failure: (any Error)? = nil) -> UploadSource {
        UploadSource { [made] () -> PieceSequence in
            made.withLock { $0 += 1 }
            return PieceSequence(text.utf8.map { Data([$0]) }, failure: failure)
        }
    }

    private let put = Request("http://h/", method: .put)

    // MARK: On the wire

    @Test(arguments: TransportKind.allCases, [true, false])
    func `arrives as a whole, with its length where that is known`(kind: TransportKind, isKnown: Bool)
        async throws
    {
        let count = 1_000_001
        let engine = engine(kind.make())
        let source = UploadSource(length: isKnown ? Int64(count) : nil) { PatternStream(count: count) }
        let seen = Guarded<[TransferProgress]>([])
        let request = Request(try await SampleServer.shared.url("wire/upload"), method: .put)
        let response = try await engine.upload(request, from: source) { progress in
            seen.withLock { $0.append(progress) }
        }
        let receipt = try Receipt(response.body)
        #expect(receipt.bytes == count && receipt.checksum == Pattern.checksum(count: count))
        kind.withShortcoming(.streamedUpload, if: !isKnown) {
            #expect(receipt.contentLength == (isKnown ? count : nil))
        }
        let sent = seen.withLock { $0.map(\.sent) }
        #expect(sent == sent.sorted() && sent.last == Int64(count))
        #expect(seen.withLock { $0.last?.expectedToSend } == (isKnown ? Int64(count) : nil))
        await engine.close()
    }

    @Test func `an upload body may be an asynchronous sequence of any type`() async throws {
        let (stream, continuation) = AsyncStream<Data>.makeStream()
        for letter in ["a", "", "bc"] { continuation.yield(Data(letter.utf8)) }
        continuation.finish()
        let engine = engine(transport((200, [:])))
        #expect(try await engine.upload(put, from: UploadSource(once: stream)).status == .ok)
        #expect(arrived.withLock { $0 } == ["abc"])
        await engine.close()
    }

    @Test func `leaves the parameters in the query`() async throws {
        let transport = transport((200, [:]))
        let engine = engine(transport)
        _ = try await engine.upload(Request("http://h/", method: .post, parameters: ["a": 1]), from: source())
        #expect(transport.requests.map(\.url) == ["http://h/?a=1"] && arrived.withLock { $0 } == ["abc"])
        await engine.close()
    }

    @Test func `an upload of a call is answered with the call's output`() async throws {
        let call = put.decoding([Int].self)
        let engine = engine(StubTransport(body: "[1]"))
        #expect(try await engine.upload(call, from: source()) == [1])
        let failing = self.engine(StubTransport(status: 404))
        let error = await #expect(throws: ConnectionError.self) { try await failing.upload(call, from: source()) }
        #expect(error?.code == .badStatus)
        await engine.close()
        await failing.close()
    }

    // MARK: Repetition

    @Test func `an upload body is made again for every attempt`() async throws {
        let engine = engine(transport((503, [:]), (503, [:]), (200, [:])))
        let response = try await engine.upload(put, from: source())
        #expect(response.status == .ok && response.attempts.count == 3)
        #expect(arrived.withLock { $0 } == ["abc", "abc", "abc"] && made.withLock { $0 } == 3)
        await engine.close()
    }

    @Test(
        arguments: [
            (307, .post, "http://other/end", "abc"), (308, .put, "/end", "abc"), (301, .put, "/end", "abc"),
            (303, .post, "/end", nil), (302, .post, "/end", nil), (303, .get, "/end", nil),
        ] as [(Int, HTTPRequest.Method, String, String?)])
    func `follows a redirect that repeats it`(
        status: Int,
        method: HTTPRequest.Method,
        location: String,
        next: String?
    ) async throws {
        let transport = transport((status, [.location: location]), (200, [:]))
        let engine = engine(transport)
        let request = Request("http://h/start", method: method, headers: [.contentType: "t"])
        let response = try await engine.upload(request, from: source())
        #expect(response.status == .ok && response.url.hasSuffix("/end"))
        #expect(arrived.withLock { $0 } == ["abc", next])
        #expect((transport.requests.last?.headers[.contentType] != nil) == (next != nil))
        await engine.close()
    }

    @Test(arguments: [503, 421, 307])
    func `an upload body read only once is not sent again, and the caller gets the response`(status: Int) async throws {
        let transport = transport((status, [.location: "/end"]), (200, [:]))
        let shown = Guarded<[Int]>([])
        let engine = engine(transport) { $0.interceptors = [RecordingInterceptor(statuses: shown)] }
        let response = try await engine.upload(put, from: UploadSource(once: PieceSequence([Data("abc".utf8)])))
        #expect(response.status.code == status && transport.requests.count == 1)
        #expect(response.attempts.last?.reason?.code == (status == 307 ? nil : .bodyConsumed))
        #expect(shown.withLock { $0 } == [status])
        await engine.close()
    }

    /// Records the responses that it is shown.
    private struct RecordingInterceptor: Interceptor {
        let statuses: Guarded<[Int]>

        func validate(_ response: Response) async throws {
            statuses.withLock { $0.append(response.status.code) }
        }
    }

    @Test func `an upload body read only once follows a redirect that drops it`() async throws {
        let engine = engine(transport((303, [.location: "/end"]), (200, [:])))
        let response = try await engine.upload(put, from: UploadSource(once: PieceSequence([Data("abc".utf8)])))
        #expect(response.url == "http://h/end" && arrived.withLock { $0 } == ["abc", nil])
        await engine.close()
    }

    @Test func `an upload body read only once is sent again as long as it was not read`() async throws {
        let failures = Guarded([TransportError(.cannotConnect, "unsent")])
        let transport = StubTransport { [arrived] request throws(TransportError) in
            if let failure = failures.withLock({ $0.popLast() }) { throw failure }
            let text = try await Self.text(of: request.body)
            arrived.withLock { $0.append(text) }
            return .stub()
        }
        let engine = engine(transport)
        _ = try await engine.upload(put, from: UploadSource(once: PieceSequence([Data("abc".utf8)])))
        #expect(transport.requests.count == 2 && arrived.withLock { $0 } == ["abc"])
        await engine.close()
    }

    @Test func `an upload body read only once is refused when it was read before`() async throws {
        let transport = transport((200, [:]))
        let engine = engine(transport)
        let source = UploadSource(once: PieceSequence([Data("abc".utf8)]))
        _ = try await engine.upload(put, from: source)
        let error = await #expect(throws: ConnectionError.self) { try await engine.upload(put, from: source) }
        #expect(error?.code == .badRequest && error?.message.contains("only once, and was") == true)
        #expect(transport.requests.count == 1)
        await #expect(throws: TransportError.self) { try await BodyStream(source.pieces()).collect() }
        await engine.close()
    }

    private struct StubRefreshProvider: RefreshableCredentialProvider {
        func secret(_ name: String, for identity: String?) async throws -> String? { "t" }
        func identity(for request: Request) async throws -> String? { "user" }
        func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {}
    }

    @Test(arguments: [false, true])
    func `is sent again with a newer credential, unless its body is read only once`(isOnce: Bool) async throws {
        let engine = engine(transport((401, [:]), (200, [:]))) { $0.credentials = StubRefreshProvider() }
        var request = put
        request.credentials = [.header(.authorization, .secret("token"))]
        let once = UploadSource(once: PieceSequence([Data("abc".utf8)]))
        let response = try await engine.upload(request, from: isOnce ? once : source())
        #expect(response.status.code == (isOnce ? 401 : 200))
        #expect(arrived.withLock { $0.count } == (isOnce ? 1 : 2))
        await engine.close()
    }

    // MARK: Cache keys

    @Test func `is not answered from the cache, and invalidates entries if it is unsafe`() async throws {
        let transport = transport((200, [.cacheControl: "max-age=3600"]))
        let engine = Engine(Engine.Configuration(testing: transport, store: TemporaryStore()))
        let get = Request("http://h/")
        #expect(try await engine.send(get).source == .network)
        for _ in 0..<2 { #expect(try await engine.upload(get, from: source()).source == .network) }
        #expect(try await engine.send(get).source == .cache)
        #expect(arrived.withLock { $0 } == [nil, "abc", "abc"])
        _ = try await engine.upload(put, from: source())
        #expect(try await engine.send(get).source == .network)
        await engine.close()
    }

    // MARK: Refusals

    private struct Failure: Error {}

    @Test(arguments: TransportKind.allCases)
    func `fails with the error of its source, and is not retried`(kind: TransportKind) async throws {
        let engine = engine(kind.make())
        let request = Request(try await SampleServer.shared.url("wire/upload"), method: .put)
        let error = await #expect(throws: ConnectionError.self) {
            try await engine.upload(request, from: source("ab", failure: Failure()))
        }
        #expect(error?.code == .badRequest && (error?.cause as? TransportError)?.cause is Failure)
        #expect(made.withLock { $0 } == 1 && engine.lanes.running == 0)
        await engine.close()
    }

    @Test(arguments: TransportKind.allCases)
    func `is refused for HEAD`(kind: TransportKind) async throws {
        let engine = engine(kind.make())
        let request = Request(try await SampleServer.shared.url("wire/echo"), method: .head)
        let error = await #expect(throws: ConnectionError.self) { try await engine.upload(request, from: source()) }
        #expect(error?.code == .badRequest)
        await engine.close()
    }

    @Test(arguments: [
        Request("http://h/", method: .post, body: .json(1)), Request("http://h/", method: .post, body: .bytes(Data())),
        form,
    ]) func `is refused for a request with a body of its own`(request: Request) async throws {
        let transport = transport((200, [:]))
        let engine = engine(transport)
        let error = await #expect(throws: ConnectionError.self) { try await engine.upload(request, from: source()) }
        #expect(error?.code == .badRequest && error?.message.contains("leave one of them out") == true)
        #expect(transport.requests.isEmpty && made.withLock { $0 } == 0)
        await engine.close()
    }

    private static let form = {
        var request = Request("http://h/", method: .post, parameters: ["a": 1])
        request.destination = .form
        return request
    }()

    @Test(arguments: [ReplayPolicy.durable, .onFailure])
    func `is refused where the request is to be queued`(policy: ReplayPolicy) async throws {
        let transport = transport((200, [:]))
        let engine = Engine(Engine.Configuration(testing: transport, store: TemporaryStore()))
        var request = put
        request.replay = policy
        let error = await #expect(throws: ConnectionError.self) { try await engine.upload(request, from: source()) }
        #expect(error?.code == .cannotQueue && error?.message.contains("send a file") == true)
        #expect(transport.requests.isEmpty && made.withLock { $0 } == 0)
        await engine.close()
    }

    /// Signals that it was read, and ignores its cancellation.
    private struct HangingSequence: AsyncSequence, Sendable {
        let asked: Gate
        let held: Gate

        struct Iterator: AsyncIteratorProtocol {
            let sequence: HangingSequence

            mutating func next() async -> Data? {
                sequence.asked.open()
                await sequence.held.wait()
                return nil
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }
    }

    @Test(arguments: TransportKind.allCases)
    func `is canceled at once, though its source does not return`(kind: TransportKind) async throws {
        let (asked, held) = (Gate(), Gate())
        let engine = engine(kind.make())
        let request = Request(try await SampleServer.shared.url("wire/upload"), method: .put)
        let upload = Task {
            try await engine.upload(request, from: UploadSource { HangingSequence(asked: asked, held: held) })
        }
        await asked.wait()
        upload.cancel()
        await #expect { _ = try await upload.value } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        #expect(engine.lanes.running == 0 && engine.activity.counts.isIdle)
        held.open()
        await engine.close()
    }
}
