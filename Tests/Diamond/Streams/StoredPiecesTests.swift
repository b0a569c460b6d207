import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A large stored body", .limit(minutes: 5)) final class StoredPiecesTests {
    typealias Answer = ScriptedServer.Answer

    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private let dropped = Guarded<[String]>([])
    private var observations: [ActivityObservation] = []

    /// Eight chunks, no two of which are equal.
    private static let text = (0..<150_000).map { "\($0)\n" }.joined()
    private static let body = Data(text.utf8)
    private static let first = Answer(
        headers: ["Cache-Control: max-age=60", "ETag: \"a\"", "Content-Length: \(body.count)"], body: text)
    private static let second = Answer(
        headers: ["Cache-Control: max-age=60", "ETag: \"b\"", "Content-Length: 6"], body: "second")
    private static let confirmation = Answer(status: 304, headers: ["Cache-Control: max-age=60", "ETag: \"a\""])

    private var file: URL { temporary.directory.appending(path: "download") }

    /// An engine that has sent a request once, and has its response on disk only.
    private func engine(
        having request: Request,
        isSealed: Bool = false,
        from transport: (any Transport)? = nil,
        by timer: TestClock? = nil
    ) async throws -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.retry = .never
        configuration.now = { [clock] in clock.now }
        if isSealed { configuration.seal = AESGCMSeal.first }
        if let transport { configuration.transport = transport }
        if let timer { configuration.clock = timer }
        let engine = Engine(configuration)
        let dropped = dropped
        observations.append(
            engine.activity.observe { event in
                if case .cacheEntryDropped(let reason) = event { dropped.withLock { $0.append(reason) } }
            })
        _ = try await engine.send(request)
        await engine.cache?.flush()
        engine.cache?.memoryCapacity = 0
        return engine
    }

    private func damage(_ chunk: Int) throws {
        try temporary.execute(
            "UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id = (SELECT id << 20 | \(chunk) FROM entry)")
    }

    /// Returns the pieces of a body until it ends, and its error.
    private func pieces(_ response: StreamedResponse) async -> (pieces: [Data], error: ConnectionError?) {
        var pieces: [Data] = []
        do throws(ConnectionError) {
            for try await piece in response.bytes { pieces.append(piece) }
            return (pieces, nil)
        } catch {
            return (pieces, error)
        }
    }

    // MARK: Chunks

    @Test(arguments: [false, true], [false, true])
    func `is read chunk by chunk`(isSealed: Bool, isStale: Bool) async throws {
        let server = try ScriptedServer([Self.first, Self.confirmation])
        let engine = try await engine(having: Request(server.url), isSealed: isSealed)
        if isStale { clock.advance(by: 61) }
        let response = try await engine.stream(Request(server.url))
        // Also before its end: it holds no permit of the wire.
        #expect(response.source == (isStale ? .revalidated : .cache) && engine.lanes.running == 0)
        let (pieces, error) = await pieces(response)
        #expect(error == nil && Data(pieces.joined()) == Self.body)
        #expect(pieces.count == 8 && pieces.dropLast().allSatisfy { $0.count == CacheTable.chunkSize })
        let download = try await engine.download(Request(server.url), to: file)
        #expect(try Data(contentsOf: file) == Self.body && download.size == Self.body.count)
        #expect(server.count == (isStale ? 2 : 1))
        // A caller that collects it has it whole.
        #expect(try await engine.send(Request(server.url)).body == Self.body)
        await engine.close()
    }

    @Test func `counts as a hit`() async throws {
        let server = try ScriptedServer([Self.first])
        let engine = try await engine(having: Request(server.url))
        _ = try await engine.download(Request(server.url), to: file)
        await engine.cache?.flush()
        let bytes = try temporary.texts("SELECT CAST(sum(bytes_served) AS TEXT) FROM hour")
        #expect(bytes == ["\(Self.body.count)"])
        await engine.close()
    }

    @Test func `is not read for HEAD, and no further after its reader has stopped`() async throws {
        let server = try ScriptedServer([Self.first])
        let engine = try await engine(having: Request(server.url))
        try damage(3)
        let (none, _) = await pieces(try await engine.stream(Request(server.url, method: .head)))
        #expect(none.isEmpty)
        var bytes = try await engine.stream(Request(server.url)).pieces.makeAsyncIterator()
        #expect(try await bytes.next() == Self.body.prefix(CacheTable.chunkSize))
        bytes.abandon()
        await engine.close()
        #expect(dropped.withLock { $0 }.isEmpty && server.count == 1)
    }

    @Test(arguments: [true, false])
    func `is revalidated after a stream has read it, but before it is collected`(
        isConfirmed: Bool
    ) async throws {
        let mayAnswer = Gate()
        let transport = StubTransport { request throws(TransportError) in
            let headers: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]
            guard request.headers[.ifNoneMatch] != nil else { return .stub(headers: headers, body: Self.body) }
            await mayAnswer.wait()
            guard !isConfirmed else { return .stub(status: 304, headers: headers, body: "") }
            return .stub(headers: [.cacheControl: "max-age=60", .eTag: "\"b\""], body: "second")
        }
        let engine = try await engine(having: Request("http://h/"), from: transport)
        let recorder = ActivityRecorder(engine.activity)
        clock.advance(by: 61)
        let request = Request("http://h/", cache: .staleWhileRevalidate)
        let responses = [try await engine.stream(request), try await engine.stream(request)]
        #expect(!recorder.lines.contains("refresh began"))
        for response in responses {
            let (pieces, error) = await pieces(response)
            #expect(response.source == .stale && error == nil && Data(pieces.joined()) == Self.body)
        }
        // One request for both.
        #expect(recorder.lines.filter { $0 == "refresh began" }.count == 1)
        await untilTrue { transport.requests.count == 2 }
        let whole = Task { try await engine.send(Request("http://h/")) }
        await untilTrue { transport.requests.count == 3 }
        mayAnswer.open()
        #expect(try await whole.value.body == (isConfirmed ? Self.body : Data("second".utf8)))
        await engine.close()
    }

    // MARK: Damage

    @Test(arguments: [false, true])
    func `fails at a damaged chunk, and its entry is deleted`(isStale: Bool) async throws {
        let server = try ScriptedServer([Self.first] + (isStale ? [Self.confirmation] : []) + [Self.second])
        let engine = try await engine(having: Request(server.url))
        try damage(3)
        if isStale { clock.advance(by: 61) }
        let (pieces, error) = await pieces(try await engine.stream(Request(server.url)))
        #expect(Data(pieces.joined()) == Self.body.prefix(3 * CacheTable.chunkSize))
        #expect(error?.code == .connectionLost && (error?.cause as? CacheError)?.code == .corrupt)
        #expect(dropped.withLock { $0.count } == 1 && engine.lanes.running == 0)
        await engine.cache?.flush()
        #expect(try temporary.rows("entry") == 0)
        #expect(try await engine.send(Request(server.url)).text == "second")
        await engine.close()
    }

    @Test(arguments: [false, true], [0, 5])
    func `is requested again when its damage is found before its delivery`(
        isStale: Bool, chunk: Int
    )
        async throws
    {
        let server = try ScriptedServer([Self.first] + (isStale ? [Self.confirmation] : []) + [Self.second])
        let engine = try await engine(having: Request(server.url))
        try damage(chunk)
        if isStale { clock.advance(by: 61) }
        // A stream is delivered from its first chunk on, a download at its end.
        if chunk == 0 {
            let response = try await engine.stream(Request(server.url))
            #expect(response.source == .network)
            #expect(Data(await pieces(response).pieces.joined()) == Data("second".utf8))
        } else {
            #expect(try await engine.download(Request(server.url), to: file).size == 6)
            #expect(try String(contentsOf: file, encoding: .utf8) == "second")
        }
        #expect(server.values(of: .ifNoneMatch) == (isStale ? [nil, "\"a\"", nil] : [nil, nil]))
        #expect(dropped.withLock { $0.count } == 1)
        await engine.close()
    }

    @Test func `a damaged large stored body is requested again within the deadline, and counts as one miss`()
        async throws
    {
        let (timer, mayAnswer, isStored) = (TestClock(), Gate(), Guarded(false))
        let transport = StubTransport { request throws(TransportError) in
            let headers: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]
            guard isStored.withLock({ $0 }) else { return .stub(headers: headers, body: Self.body) }
            guard request.headers[.ifNoneMatch] == nil else {
                timer.advance(by: .seconds(8))
                return .stub(status: 304, headers: headers, body: "")
            }
            await mayAnswer.wait()
            return .stub(body: "second")
        }
        var request = Request("http://h/")
        let engine = try await engine(having: request, from: transport, by: timer)
        let recorder = ActivityRecorder(engine.activity)
        try damage(0)
        isStored.withLock { $0 = true }
        clock.advance(by: 61)
        request.retry = RetryPolicy(attempts: 1, deadline: .seconds(10))
        let task = Task { [request] in try await engine.stream(request) }
        await untilTrue { transport.requests.count == 3 && timer.sleeping == [.seconds(2)] }
        mayAnswer.open()
        #expect(Data(await pieces(try await task.value).pieces.joined()) == Data("second".utf8))
        #expect(recorder.lines.filter { $0 == "miss" }.count == 1)
        await engine.close()
    }

    @Test func `a damaged stored body does not replace a server error, which is not retried`() async throws {
        let server = try ScriptedServer([Self.first, Answer(status: 503, headers: ["Content-Length: 0"])])
        let engine = try await engine(having: Request(server.url))
        try damage(0)
        let response = try await engine.stream(Request(server.url, cache: .networkElseCache))
        #expect(response.status == .serviceUnavailable && server.count == 2)
        await engine.close()
    }

    @Test func `a download with cacheOnly fails with 504 when the stored body is damaged`() async throws {
        let server = try ScriptedServer([Self.first])
        let engine = try await engine(having: Request(server.url))
        try damage(5)
        let request = Request(server.url, cache: .cacheOnly)
        await #expect { _ = try await engine.download(request, to: file) } throws: {
            ($0 as? ConnectionError)?.response?.status == .gatewayTimeout
        }
        #expect(server.count == 1)
        await engine.close()
    }

    // MARK: Changes during the read

    @Test(arguments: [false, true])
    func `a stored body fails when its entry is deleted or replaced while it is read`(isReplaced: Bool)
        async throws
    {
        let other = String(Self.text.reversed())
        let headers = ["Cache-Control: max-age=60", "Content-Length: \(other.utf8.count)"]
        let server = try ScriptedServer([Self.first, .init(headers: headers, body: other)])
        let engine = try await engine(having: Request(server.url))
        let response = try await engine.stream(Request(server.url))
        var bytes = response.pieces.makeAsyncIterator()
        var seen = try #require(try await bytes.next())
        if isReplaced {
            _ = try await engine.send(Request(server.url, cache: .reload))
            await engine.cache?.flush()
        } else {
            try await engine.cache?.purge()
        }
        var error: ConnectionError?
        do throws(ConnectionError) { while let piece = try await bytes.next() { seen += piece } } catch let loss {
            error = loss
        }
        #expect(error?.code == .connectionLost && (error?.cause as? CacheError)?.code == .entryGone)
        // One more chunk may have been read before the first was delivered.
        #expect(Self.body.starts(with: seen) && seen.count <= 2 * CacheTable.chunkSize)
        #expect(dropped.withLock { $0 }.isEmpty)
        await engine.close()
    }

    @Test(arguments: [false, true])
    func `a stored body that is deleted before the server answers 304 is requested again without its validator`(
        isEvicted: Bool
    ) async throws {
        let (store, isTaken) = (temporary.store, Guarded(false))
        let headers: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]
        let transport = StubTransport { request throws(TransportError) in
            guard request.headers[.ifNoneMatch] != nil else {
                return .stub(headers: headers, body: isTaken.withLock { $0 } ? Data("second".utf8) : Self.body)
            }
            let other = try? Cache(store, memoryCapacity: 0)
            let count = if isEvicted { try? await other?.evict(to: 0).count } else { try? await other?.purge() }
            isTaken.withLock { $0 = count == 1 }
            return .stub(status: 304, headers: headers, body: "")
        }
        let engine = try await engine(having: Request("http://h/"), from: transport)
        clock.advance(by: 61)
        let response = try await engine.stream(Request("http://h/"))
        #expect(response.source == .network)
        #expect(Data(await pieces(response).pieces.joined()) == Data("second".utf8))
        #expect(transport.requests.map { $0.headers[.ifNoneMatch] } == [nil, "\"a\"", nil])
        await engine.close()
    }

    @Test func `a stored body is deleted after it was read when the server answers 304 with no-store`() async throws {
        let forbidden = Answer(status: 304, headers: ["Cache-Control: no-store", "ETag: \"a\""])
        let server = try ScriptedServer([Self.first, forbidden])
        let engine = try await engine(having: Request(server.url))
        clock.advance(by: 61)
        let response = try await engine.stream(Request(server.url))
        #expect(response.source == .revalidated)
        // Pending deletions would have run by now.
        await engine.cache?.flush()
        let (pieces, error) = await pieces(response)
        #expect(error == nil && Data(pieces.joined()) == Self.body)
        await engine.cache?.flush()
        #expect(try temporary.rows("entry") == 0)
        await engine.close()
    }

    @Test func `a download to a file starts again with a request when the stored entry is deleted`() async throws {
        let server = try ScriptedServer([Self.first, Self.second])
        let engine = try await engine(having: Request(server.url))
        let (temporary, writes) = (temporary, Guarded(0))
        let goes: DownloadFile.Write = { descriptor, bytes in
            // While the third chunk is written.
            writes.withLock { $0 += 1 }
            if writes.withLock({ $0 }) == 3 { try? temporary.execute("DELETE FROM entry") }
            return Foundation.write(descriptor, bytes.baseAddress, bytes.count)
        }
        let place = DownloadFile(file, limit: .max, write: goes)
        #expect(try await engine.pipeline.download(Request(server.url), into: place).size == 6)
        #expect(try String(contentsOf: file, encoding: .utf8) == "second" && writes.withLock { $0 } == 4)
        #expect(dropped.withLock { $0 }.isEmpty)
        await engine.close()
    }

    @Test func `a download to a sink starts again with a request when the stored entry is deleted`() async throws {
        let server = try ScriptedServer([Self.first, Self.second])
        let engine = try await engine(having: Request(server.url))
        let (temporary, calls) = (temporary, Guarded(0))
        let bodyRecorder = BodyRecorder { _ in
            calls.withLock { $0 += 1 }
            // While the third chunk is passed to the sink.
            if calls.withLock({ $0 }) == 4 { try temporary.execute("DELETE FROM entry") }
        }
        #expect(try await engine.download(Request(server.url), to: bodyRecorder).size == 6)
        #expect(bodyRecorder.text == "second" && bodyRecorder.head?.source == .network)
        #expect(bodyRecorder.calls == ["begin 200", "write", "begin 200", "write", "finish"])
        await engine.close()
    }
}
