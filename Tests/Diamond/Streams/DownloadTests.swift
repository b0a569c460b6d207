import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A download", .limit(minutes: 5)) struct DownloadTests {
    typealias Answer = ScriptedServer.Answer

    private let folder = TemporaryFolder()
    private var file: URL { folder.url.appending(path: "cities.zip") }

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine { .timeless(change) }

    private static let old = Answer(headers: ["Content-Length: 10", "ETag: \"a\""], body: "01234")

    private static func rest(_ range: String, _ body: String) -> Answer {
        Answer(
            status: 206,
            headers: ["Content-Range: \(range)", "ETag: \"a\"", "Content-Length: \(body.count)"], body: body)
    }

    /// The destination of a body.
    enum Place: CaseIterable { case file, sink }

    /// - Returns: the download, and a closure that returns its bytes.
    private func fetch(
        _ request: Request,
        to place: Place,
        by engine: Engine,
        limit: Int = .max
    ) async throws(ConnectionError) -> (download: Download, body: Data?) {
        switch place {
        case .file:
            let download = try await engine.download(request, to: file, limit: limit)
            return (download, try? Data(contentsOf: file))
        case .sink:
            let recorder = BodyRecorder()
            let download = try await engine.download(request, to: recorder, limit: limit)
            return (download, recorder.body)
        }
    }

    private func failure(
        _ engine: Engine,
        _ request: Request,
        to place: Place = .file,
        limit: Int = .max
    ) async -> ConnectionError? {
        do throws(ConnectionError) {
            _ = try await fetch(request, to: place, by: engine, limit: limit)
            return nil
        } catch { return error }
    }

    // MARK: File

    @Test(arguments: TransportKind.allCases)
    func `writes the whole file, and leaves no other file`(kind: TransportKind) async throws {
        try Data("old".utf8).write(to: file)
        let server = try await SampleServer.shared
        let engine = engine { $0.transport = kind.make() }
        let seen = Guarded<[TransferProgress]>([])
        let request = Request(server.url("wire/bytes/3000000"))
        let download = try await engine.download(request, to: file) { progress in
            seen.withLock { $0.append(progress) }
        }
        #expect(download.status == .ok && download.size == 3_000_000 && download.file == file)
        #expect(download.url == request.url && download.attempts.isEmpty && download.headers[.eTag] != nil)
        #expect(try Data(contentsOf: file) == Pattern.bytes(count: 3_000_000))
        #expect(folder.names == ["cities.zip"])
        let received = seen.withLock { $0.map(\.received) }
        #expect(received == received.sorted() && received.last == 3_000_000)
        #expect(seen.withLock { $0.last?.expectedToReceive } == 3_000_000)
        #expect(engine.lanes.running == 0 && engine.activity.counts.isIdle)
        await engine.close()
    }

    @Test func `may be empty`() async throws {
        let engine = engine { $0.transport = StubTransport(status: 204, body: "") }
        #expect(try await engine.download(Request("http://h/"), to: file).size == 0)
        #expect(try Data(contentsOf: file).isEmpty)
        await engine.close()
    }

    @Test(arguments: Place.allCases, [nil, "bytes=0-4"] as [String?])
    func `does not deliver a part that was not requested`(place: Place, range: String?) async throws {
        let headers: HTTPFields = [.contentRange: "bytes 0-4/100000", .contentLength: "5"]
        let engine = engine { $0.transport = StubTransport(status: 206, headers: headers, body: "01234") }
        var request = Request("http://h/")
        if let range { request.headers[.range] = range }
        let error = await failure(engine, request, to: place)
        #expect(error?.code == (range == nil ? .badResponse : nil))
        #expect(FileManager.default.fileExists(atPath: file.path) == (range != nil && place == .file))
        await engine.close()
    }

    @Test func `asks for bytes without a coding, unless the request says otherwise`() async throws {
        let transport = StubTransport()
        let engine = engine { $0.transport = transport }
        _ = try await engine.download(Request("http://h/"), to: file)
        _ = try await engine.download(Request("http://h/", headers: [.acceptEncoding: "br"]), to: file)
        #expect(transport.requests.map { $0.headers[.acceptEncoding] } == ["identity", "br"])
        await engine.close()
    }

    @Test func `a download with cacheOnly is answered from the cache`() async throws {
        let store = TemporaryStore()
        let engine = engine {
            $0.store = store.store
            $0.transport = StubTransport(headers: [.cacheControl: "max-age=86400"])
        }
        _ = try await engine.send(Request("http://h/"))
        let download = try await engine.download(Request("http://h/", cache: .cacheOnly), to: file)
        #expect(try String(contentsOf: file, encoding: .utf8) == "body" && download.size == 4)
        await engine.close()
    }

    /// An object that the caller shares with the download.
    private final class SharedObject: Sendable {}

    /// `@unchecked Sendable`: set before it is shared.
    private final class RemainingReferences: @unchecked Sendable {
        weak var kept: SharedObject?
    }

    @Test func `retains none of the caller's objects when it has ended`() async throws {
        let left = RemainingReferences()
        let rangeServer = RangeServer { $0.flows = [.broken(1_000_000)] }
        let engine = engine { $0.transport = rangeServer.transport }
        do {
            let kept = SharedObject()
            left.kept = kept
            let download = try await engine.download(Request("http://h/"), to: file) { _ in
                withExtendedLifetime(kept) {}
            }
            #expect(download.attempts.count == 2)
        }
        await untilTrue { left.kept == nil }
        await engine.close()
    }

    // MARK: Resumption

    @Test func `is resumed wherever it breaks`() async throws {
        let rangeServer = RangeServer { $0.flows = [.broken(1_000_000), .broken(500_000)] }
        let engine = engine { $0.transport = rangeServer.transport }
        let download = try await engine.download(Request("http://h/"), to: file)
        #expect(try Data(contentsOf: file) == rangeServer.body && download.size == rangeServer.body.count)
        #expect(download.status == .ok)
        #expect(rangeServer.ranges == [nil, "bytes=1000000-", "bytes=1500000-"])
        #expect(download.attempts.map(\.reason?.code) == [.interrupted, .interrupted, nil])
        await engine.close()
    }

    @Test func `a broken download that lacked no byte is complete`() async throws {
        let rangeServer = RangeServer { $0.flows = [.broken($0.body.count)] }
        let engine = engine { $0.transport = rangeServer.transport }
        #expect(try await engine.download(Request("http://h/"), to: file).size == rangeServer.body.count)
        #expect(try Data(contentsOf: file) == rangeServer.body)
        await engine.close()
    }

    private static let whole = Answer(headers: ["Content-Length: 10"], body: "0123456789")

    private static let courses: [[Answer]] = [
        [old, rest("bytes 5-9/10", "56789")],
        [old, Answer(status: 503, headers: ["Content-Length: 0"]), rest("bytes 5-9/10", "56789")],
        // The whole body instead of the rest, longer or shorter than the stored bytes.
        [old, Answer(headers: ["Content-Length: 10", "ETag: \"b\""], body: "0123456789")],
        [Answer(headers: ["Content-Length: 99", "ETag: \"z\""], body: "012345678901234"), whole],
        [
            Answer(headers: ["Content-Length: 99", "ETag: \"z\""], body: "012345678901234"), old,
            rest("bytes 5-9/10", "56789"),
        ],
        // Responses that do not match the stored bytes.
        [old, rest("bytes 4-9/10", "456789"), whole],
        [old, Answer(status: 416, headers: ["Content-Length: 0"]), whole],
        // There is no validator to resume by.
        [Answer(headers: ["Content-Length: 10"], body: "xxxxx"), whole],
    ]

    @Test(arguments: Place.allCases, courses)
    func `is complete, whatever the server answers to the request for the rest`(
        place: Place, answers: [Answer]
    ) async throws {
        let server = try ScriptedServer(answers)
        let engine = engine()
        let (download, body) = try await fetch(Request(server.url), to: place, by: engine)
        #expect(body == Data("0123456789".utf8) && download.size == 10)
        #expect(server.count == answers.count && folder.names == (place == .file ? ["cities.zip"] : []))
        await engine.close()
    }

    @Test(arguments: Place.allCases) func `is resumed however long it has taken`(place: Place) async throws {
        let clock = TestClock()
        let server = try ScriptedServer([Self.old, Self.rest("bytes 5-9/10", "56789")])
        let engine = engine {
            $0.clock = clock
            $0.interceptors = [HourlyInterceptor(clock: clock)]
        }
        #expect(try await fetch(Request(server.url), to: place, by: engine).download.size == 10)
        await engine.close()
    }

    /// Advances the clock by an hour with every attempt.
    private struct HourlyInterceptor: Interceptor {
        let clock: TestClock

        func adapt(_ request: inout TransportRequest, attempt: Int) async throws { clock.advance(by: .seconds(3600)) }
    }

    // MARK: Failures

    /// The server sends the rest with the status of a whole.
    @Test func `a download whose rest arrives with status 200 fails, and begins anew with the next request`()
        async throws
    {
        let contradiction = Answer(
            headers: ["Content-Range: bytes 5-9/10", "ETag: \"a\"", "Content-Length: 5"], body: "56789")
        let server = try ScriptedServer([Self.old, contradiction, Self.whole])
        let engine = engine()
        let error = await failure(engine, Request(server.url))
        #expect(error?.code == .badResponse && error?.message.contains("Content-Range") == true && folder.names == [])
        #expect(try await engine.download(Request(server.url), to: file).size == 10 && server.count == 3)
        await engine.close()
    }

    @Test func `a failed download leaves the existing file, and none of its own`() async throws {
        try Data("old".utf8).write(to: file)
        let server = try ScriptedServer([Self.old])
        let engine = engine()
        var request = Request(server.url)
        request.retry = .never
        #expect(await failure(engine, request)?.code == .connectionLost)
        #expect(try String(contentsOf: file, encoding: .utf8) == "old" && folder.names == ["cities.zip"])
        await engine.close()
    }

    @Test func `a canceled download leaves no file`() async throws {
        let rangeServer = RangeServer { $0.flows = [.held(2 << 20)] }
        let engine = engine { $0.transport = rangeServer.transport }
        let download = Task { [file] in try await engine.download(Request("http://h/"), to: file) }
        await untilTrue { rangeServer.drained == 1 }
        #expect(folder.names.count == 1 && folder.names != ["cities.zip"])
        download.cancel()
        await #expect { _ = try await download.value } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        #expect(folder.names.isEmpty && engine.lanes.running == 0 && engine.activity.counts.isIdle)
        await engine.close()
    }

    @Test func `removes the partial files of killed downloads in its directory`() async throws {
        let part = ".diamond-\(UUID().uuidString).part"
        let others = [".diamond-notes.part", ".\(UUID().uuidString).part", "a\(part)"]
        for name in [part] + others { _ = try folder.file(name, Data("old".utf8)) }
        let engine = engine { $0.transport = StubTransport() }
        _ = try await engine.download(Request("http://h/"), to: file)
        #expect(folder.names == (others + ["cities.zip"]).sorted())
        await engine.close()
    }

    @Test func `removes the kept files that nobody has written for a week, and no newer ones`() async throws {
        let names = (0..<2).map { _ in ".diamond-\(UUID().uuidString).kept" }
        for name in names { _ = try folder.file(name, Data("old".utf8)) }
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -8 * 86_400)],
            ofItemAtPath: folder.url.appending(path: names[0]).path)
        let engine = engine { $0.transport = StubTransport() }
        _ = try await engine.download(Request("http://h/"), to: file)
        #expect(folder.names == [names[1], "cities.zip"])
        await engine.close()
    }

    @Test func `downloads to the same file run at the same time, and the last to end remains`() async throws {
        let isHeld = Gate()
        let transport = StubTransport { request throws(TransportError) in
            if request.url.hasSuffix("/slow") { await isHeld.wait() }
            return .stub(body: request.url)
        }
        let engine = engine { $0.transport = transport }
        let slow = Task { [file] in try await engine.download(Request("http://h/slow"), to: file) }
        await untilTrue { transport.requests.count == 1 }
        let part = folder.names
        _ = try await engine.download(Request("http://h/fast"), to: file)
        #expect(part.count == 1 && Set(folder.names) == Set(part + ["cities.zip"]))
        #expect(try String(contentsOf: file, encoding: .utf8) == "http://h/fast")
        isHeld.open()
        _ = try await slow.value
        #expect(try String(contentsOf: file, encoding: .utf8) == "http://h/slow" && folder.names == ["cities.zip"])
        await engine.close()
    }

    @Test(arguments: Place.allCases) func `does not deliver an error response`(place: Place) async throws {
        let server = try ScriptedServer([Answer(status: 404, headers: ["Content-Length: 2"], body: "no")])
        let engine = engine()
        let error = await failure(engine, Request(server.url), to: place)
        #expect(error?.code == .badStatus && error?.response?.text == "no" && folder.names.isEmpty)
        await engine.close()
    }

    /// Marks every error that it is shown.
    private struct MarkingInterceptor: Interceptor {
        func transform(_ error: inout ConnectionError) async { error.message = "\(error.code) marked" }
    }

    /// Accepts every response that it is shown.
    private struct AcceptingInterceptor: Interceptor {
        func transform(_ response: inout Response) async throws { response.status = .ok }
    }

    @Test(arguments: Place.allCases)
    func `delivers a response that an interceptor accepts, within the caller's limit`(place: Place)
        async throws
    {
        let engine = engine {
            ($0.transport, $0.interceptors) = (StubTransport(status: 404), [AcceptingInterceptor()])
        }
        let (download, body) = try await fetch(Request("http://h/"), to: place, by: engine, limit: 4)
        #expect(body == Data("body".utf8) && download.status == .ok && download.size == 4)
        #expect(await failure(engine, Request("http://h/"), to: place, limit: 3)?.code == .bodyTooLarge)
        await engine.close()
    }

    @Test(arguments: [
        (Answer(status: 404, headers: ["Content-Length: 2"], body: "no"), ConnectionError.Code.badStatus),
        (Answer(headers: ["Content-Length: 10"], body: "01234"), .connectionLost),
    ]) func `a failed download shows interceptors its error`(answer: Answer, code: ConnectionError.Code) async throws {
        let server = try ScriptedServer([answer])
        let engine = engine { $0.interceptors = [MarkingInterceptor()] }
        var request = Request(server.url)
        request.retry = .never
        let error = await failure(engine, request)
        #expect(error?.code == code && error?.message == "\(code) marked")
        #expect(folder.names.isEmpty)
        await engine.close()
    }

    private static let fiveBytes = [
        Answer(headers: ["Content-Length: 5"], body: "01234"),
        Answer(headers: ["Transfer-Encoding: chunked"], body: "5\r\n01234\r\n0\r\n\r\n"),
        Answer(headers: ["Content-Length: 5", "ETag: \"a\""], body: "01234"),
    ]

    @Test(arguments: Place.allCases, fiveBytes)
    func `is no larger than the caller allows`(place: Place, answer: Answer) async throws {
        let server = try ScriptedServer([answer])
        let engine = engine { $0.bodyLimit = 1 }
        #expect(await failure(engine, Request(server.url), to: place, limit: 4)?.code == .bodyTooLarge)
        #expect(folder.names.isEmpty && server.count == 1)
        #expect(await failure(engine, Request(server.url), to: place, limit: 5) == nil)
        await engine.close()
    }

    @Test func `sends nothing where it cannot write`() async throws {
        let transport = StubTransport()
        let engine = engine { $0.transport = transport }
        try Data().write(to: file)
        for (place, code) in [
            (folder.url.appending(path: "none/cities.zip"), POSIXErrorCode.ENOENT),
            (file.appending(path: "cities.zip"), .ENOTDIR), (folder.url, .EISDIR),
        ] {
            do {
                _ = try await engine.download(Request("http://h/"), to: place)
                Issue.record("it was written")
            } catch {
                #expect(error.code == .cannotWrite && (error.cause as? POSIXError)?.code == code)
                #expect(error.message.contains(place.path))
            }
        }
        #expect(transport.requests.isEmpty && folder.names == ["cities.zip"])
        await engine.close()
    }

    @Test(arguments: [0, 1_500_000])
    func `fails at once where the disk is full, and leaves nothing`(room: Int) async throws {
        let rangeServer = RangeServer()
        let engine = engine { $0.transport = rangeServer.transport }
        let written = Guarded(0)
        let write: DownloadFile.Write = { descriptor, bytes in
            guard written.withLock({ $0 }) < room else {
                errno = ENOSPC
                return -1
            }
            // A file system may write only a part of the bytes.
            let count = Foundation.write(descriptor, bytes.baseAddress, (bytes.count + 1) / 2)
            written.withLock { $0 += count }
            return count
        }
        let full = DownloadFile(file, limit: .max, write: write)
        await #expect { _ = try await engine.pipeline.download(Request("http://h/"), into: full) } throws: { error in
            let error = error as? ConnectionError
            return error?.code == .cannotWrite && error?.message.contains("No space left on device") == true
        }
        #expect(folder.names.isEmpty && rangeServer.ranges.count == 1)
        #expect(engine.lanes.running == 0 && engine.activity.counts.isIdle)
        await engine.close()
    }
}
