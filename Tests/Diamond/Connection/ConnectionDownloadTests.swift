import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A connection that downloads", .limit(minutes: 5)) struct ConnectionDownloadTests {
    typealias Answer = ScriptedServer.Answer

    private let folder = TemporaryFolder()
    private let temporary = TemporaryStore()
    private var file: URL { folder.url.appending(path: "cities.zip") }

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine { .timeless(change) }

    /// Pauses the connection when a number of transfers stand still.
    private func pause(_ connection: Connection, _ rangeServer: RangeServer, behind count: Int = 1) async {
        await untilTrue { rangeServer.drained == count }
        connection.pause()
    }

    private func failure(of connection: Connection) async -> ConnectionError? {
        do throws(ConnectionError) {
            _ = try await connection.response
            return nil
        } catch { return error }
    }

    // MARK: The file

    @Test(arguments: TransportKind.allCases)
    func `a download has the whole file, under its name, and a response without body`(kind: TransportKind) async throws
    {
        try Data("old".utf8).write(to: file)
        let server = try await SampleServer.shared
        let engine = engine { $0.transport = kind.make() }
        let request = Request(server.url("wire/bytes/3000000"))
        let connection = engine.start(request, to: file)
        let download = try await connection.download
        #expect(download.status == .ok && download.size == 3_000_000 && download.file?.path == file.path)
        #expect(download.url == request.url && download.headers[.eTag] != nil && download.attempts.isEmpty)
        #expect(try await connection.response.body.isEmpty && connection.file == file)
        #expect(try Data(contentsOf: file) == Pattern.bytes(count: 3_000_000))
        #expect(folder.names == ["cities.zip"])
        await untilTrue { connection.isFinished && engine.activity.counts.isIdle }
        #expect(connection.state == .finished(.success) && engine.lanes.running == 0)
        for await progress in connection.progress { #expect(progress.received == 3_000_000) }
        await engine.close()
    }

    @Test func `a download has its file when its dependents start`() async throws {
        let engine = engine { $0.transport = StubTransport() }
        let download = Connection(Request("http://h/file"), to: file)
        let dependent = engine.connection(for: Request("http://h/"))
        let seen = Guarded<[String?]>([])
        dependent.addDependency(download) { [folder, file] _, response in
            seen.withLock { $0 = [folder.text(of: file), response.text] }
        }
        engine.start(dependent)
        engine.start(download)
        _ = try await dependent.response
        #expect(seen.withLock { $0 } == ["body", ""])
        await engine.close()
    }

    @Test func `a download has its file when its callback is called and its batch ends`() async throws {
        let engine = engine { $0.transport = StubTransport() }
        let files = ["a", "b"].map { folder.url.appending(path: $0) }
        let seen = Guarded<[String?]>([])
        let connections = files.map { file in
            engine.connection(for: Request("http://h/"), to: file).onResult(on: .global) { [folder] _ in
                seen.withLock { $0.append(folder.text(of: file)) }
            }
        }
        let batch = Batch(connections)
        engine.start(batch)
        #expect(await batch.results.allSatisfy { (try? $0.get().status) == .ok })
        #expect(seen.withLock { $0 } == ["body", "body"] && folder.names == ["a", "b"])
        await engine.close()
    }

    @Test func `a download waits for its permit without a file`() async throws {
        let manualServer = ManualServer()
        let engine = engine {
            $0.transport = manualServer.transport
            $0.width = 1
        }
        let connections = ["1", "2"].map { name in
            engine.start(Request("http://h/\(name)"), to: folder.url.appending(path: name))
        }
        await untilTrue { manualServer.flying.count == 1 && engine.lanes.waiting == 1 }
        #expect(folder.names.count == 1)
        for _ in connections {
            await untilTrue { manualServer.flying.count == 1 }
            manualServer.landAll()
        }
        for connection in connections { #expect(try await connection.download.size == 10) }
        #expect(folder.names == ["1", "2"])
        await engine.close()
    }

    @Test func `a copy of a download downloads the file again`() async throws {
        let transport = StubTransport()
        let engine = engine { $0.transport = transport }
        let connection = engine.start(Request("http://h/"), to: file)
        _ = try await connection.download
        try Data("changed".utf8).write(to: file)
        let copy = connection.copied()
        #expect(copy.file == file && copy.state == .ready)
        #expect(try await connection.retry().download.size == 4)
        #expect(folder.text(of: file) == "body" && transport.requests.count == 2)
        await engine.close()
    }

    @Test func `a connection without a download has no file`() async throws {
        let engine = engine { $0.transport = StubTransport() }
        let connection = engine.start(Request("http://h/"))
        await #expect { _ = try await connection.download } throws: { ($0 as? ConnectionError)?.code == .badRequest }
        #expect(try await connection.response.text == "body" && connection.file == nil)
        await engine.close()
    }

    // MARK: The rest

    private static func rest(_ range: String, _ body: String) -> Answer {
        Answer(
            status: 206,
            headers: ["Content-Range: \(range)", "ETag: \"a\"", "Content-Length: \(body.count)"], body: body)
    }

    private static let other = Answer(headers: ["Content-Length: 10", "ETag: \"b\""], body: "9876543210")

    /// The server's answer to the request for the rest, and the content of the file then.
    private static let rows: [([Answer], text: String)] = [
        ([rest("bytes 5-9/10", "56789")], "0123456789"),
        ([Answer(status: 503, headers: ["Content-Length: 0"]), rest("bytes 5-9/10", "56789")], "0123456789"),
        ([other], "9876543210"),
        ([rest("bytes 4-9/10", "456789"), other], "9876543210"),
        ([Answer(status: 416, headers: ["Content-Length: 0"]), other], "9876543210"),
    ]

    @Test(arguments: rows.indices, [true, false])
    func `a resumed download requests the rest, and has a whole file whatever the server says`(
        index: Int,
        hasStore: Bool
    ) async throws {
        let (answers, text) = Self.rows[index]
        let begin = Answer(headers: ["Content-Length: 10", "ETag: \"a\""], body: "01234", isHeld: true)
        let server = try ScriptedServer([begin] + answers)
        let engine = engine { [temporary] in if hasStore { $0.store = temporary.store } }
        let connection = engine.start(Request(server.url), to: file)
        await untilTrue { connection.core.withLock { $0.meter?.progress.received == 5 } }
        connection.pause()
        #expect(connection.state == .paused && folder.names.count == 1 && folder.names != ["cities.zip"])
        connection.resume()
        let download = try await connection.download
        #expect(download.size == 10 && download.status == .ok && folder.text(of: file) == text)
        #expect(server.values(of: .range).prefix(2) == [nil, "bytes=5-"])
        #expect(server.values(of: .ifRange).prefix(2) == [nil, "\"a\""])
        #expect(server.values(of: .acceptEncoding).allSatisfy { $0 == "identity" })
        #expect(server.count == 1 + answers.count && folder.names == ["cities.zip"])
        await engine.close()
    }

    @Test func `a download goes on after any number of pauses and breaks, and returns its permit meanwhile`()
        async throws
    {
        let rangeServer = RangeServer { $0.flows = [.held(1 << 20), .broken(1 << 19), .held(1 << 20), .held(0)] }
        let engine = engine { $0.transport = rangeServer.transport }
        let connection = engine.start(Request("http://h/"), to: file)
        for count in 1...3 {
            await pause(connection, rangeServer, behind: count)
            await untilTrue { engine.lanes.running == 0 }
            connection.resume()
        }
        #expect(try await connection.download.size == rangeServer.body.count)
        #expect(try Data(contentsOf: file) == rangeServer.body)
        #expect(
            rangeServer.ranges == [
                nil, "bytes=1048576-", "bytes=1572864-", "bytes=2621440-", "bytes=2621440-",
            ])
        await engine.close()
    }

    @Test func `a download writes a stored response, and sends nothing`() async throws {
        let transport = StubTransport(headers: [.cacheControl: "max-age=86400"])
        let engine = engine { [temporary] in
            $0.store = temporary.store
            $0.transport = transport
        }
        _ = try await engine.send(Request("http://h/"))
        let connection = engine.start(Request("http://h/"), to: file)
        #expect(try await connection.download.size == 4)
        let response = try await connection.response
        #expect(response.source == .cache && response.body.isEmpty && folder.text(of: file) == "body")
        #expect(transport.requests.count == 1 && folder.names == ["cities.zip"])
        await engine.close()
    }

    @Test func `a download begins again where its identity was forgotten meanwhile`() async throws {
        let rangeServer = RangeServer { $0.flows = [.held(1 << 20)] }
        let engine = engine { $0.transport = rangeServer.transport }
        var request = Request("http://h/")
        request.identity = "user-42"
        let connection = engine.start(request, to: file)
        await pause(connection, rangeServer)
        try await engine.forget(identity: "user-42")
        connection.resume()
        #expect(try await connection.download.size == rangeServer.body.count)
        #expect(rangeServer.ranges == [nil, nil])
        #expect(try Data(contentsOf: file) == rangeServer.body)
        await engine.close()
    }

    @Test func `a download does not append the rest of one response to another`() async throws {
        let rangeServer = RangeServer { $0.flows = [.held(1 << 20), .held(1 << 20)] }
        let secrets = KnownSecrets(["a/token": "1", "b/token": "2"], identity: "a")
        let engine = engine {
            $0.transport = rangeServer.transport
            $0.credentials = secrets
        }
        var request = Request("http://h/")
        request.credentials = [.header(.authorization, .secret("token"))]
        let connection = engine.start(request, to: file)
        await pause(connection, rangeServer)
        // The response to another identity cannot be resumed, and replaces the first response.
        let (tag, body) = ("\"a\"", rangeServer.body)
        rangeServer.change { ($0.tag, $0.body) = ("W/\"b\"", .noise(3 << 20, seed: 2)) }
        secrets.signIn("b")
        connection.resume()
        await pause(connection, rangeServer, behind: 2)
        rangeServer.change { ($0.tag, $0.body) = (tag, body) }
        secrets.signIn("a")
        connection.resume()
        _ = try await connection.download
        #expect(rangeServer.ranges == [nil, nil, nil])
        #expect(try Data(contentsOf: file) == body)
        await engine.close()
    }

    /// A run that is never given up.
    private final class StubRun: CallerRun {
        let resumeSlot: ResumeSlot

        init(_ part: DownloadFile) { resumeSlot = part.resumeSlot }

        var startedAt: LogPosition { .start }
        var isOver: Bool { false }
        var priority: RequestPriority { .normal }
        func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?) {}
        func setWaiting(_ isWaiting: Bool) {}
        func receive(_ event: ExchangeEvent) {}
        func beginIfAllowed() -> Bool { true }
        func concludeIfAllowed() -> Bool { true }
        func recordIfAllowed() -> Bool { true }
        var isAwaited: Bool { true }
    }

    @Test func `a download begins again after a failed write, and has its whole file`() async throws {
        let rangeServer = RangeServer()
        let engine = engine { $0.transport = rangeServer.transport }
        let room = Guarded(1_500_000)
        let write: DownloadFile.Write = { descriptor, bytes in
            let count = min(bytes.count, room.withLock { $0 })
            guard count > 0 else {
                errno = ENOSPC
                return -1
            }
            room.withLock { $0 -= count }
            return Foundation.write(descriptor, bytes.baseAddress, count)
        }
        let part = DownloadFile(file, limit: .max, write: write)
        let caller = Caller(run: StubRun(part))
        await #expect {
            _ = try await engine.pipeline.download(Request("http://h/"), into: part, for: caller)
        } throws: { ($0 as? ConnectionError)?.code == .cannotWrite }
        room.withLock { $0 = .max }
        _ = try await engine.pipeline.download(Request("http://h/"), into: part, for: caller)
        #expect(rangeServer.ranges == [nil, nil])
        #expect(try Data(contentsOf: file) == rangeServer.body)
        await engine.close()
    }

    /// Each file is whole, and no other file is left, in whatever order downloads are paused, resumed and broken.
    @Test(arguments: 0..<2) func `many downloads with random pauses and breaks each have their whole file`(seed: UInt64)
        async throws
    {
        var random = SplitMix(state: seed)
        let rangeServer = RangeServer { state in
            state.body = .noise(1_500_000)
            // No more of them break than a retry budget allows.
            state.flows = (0..<12).map { number in
                number % 6 == 0 ? .broken(random.below(1_500_000)) : .held(random.below(1_500_000))
            }
        }
        let engine = engine { $0.transport = rangeServer.transport }
        let files = (0..<4).map { folder.url.appending(path: "\($0)") }
        let connections = files.map { file in
            var request = Request("http://h/")
            request.retry = RetryPolicy(attempts: 100)
            return engine.start(request, to: file)
        }
        // A download that stands still goes on only after a pause and a resume.
        var rounds = 0
        while rounds < 200 || rangeServer.ranges.count < 12, !connections.allSatisfy(\.isFinished) {
            rounds += 1
            let chosen = connections.filter { _ in random.next() % 2 == 0 }
            for connection in chosen { connection.pause() }
            if random.next() % 2 == 0 { await Task.yield() }
            for connection in chosen { connection.resume() }
            for _ in 0..<random.below(10) { await Task.yield() }
        }
        for connection in connections {
            connection.pause()
            connection.resume()
        }
        for connection in connections { #expect(try await connection.download.size == rangeServer.body.count) }
        for file in files { #expect(try Data(contentsOf: file) == rangeServer.body) }
        #expect(folder.names == ["0", "1", "2", "3"])
        await untilTrue { engine.activity.counts.inFlight == 0 && engine.lanes.running == 0 }
        await engine.close()
    }

    // MARK: No file

    @Test(arguments: [false, true]) func `a canceled download leaves the existing file`(isPaused: Bool) async throws {
        try Data("old".utf8).write(to: file)
        let rangeServer = RangeServer { $0.flows = [.held(1 << 20)] }
        let engine = engine { $0.transport = rangeServer.transport }
        let connection = engine.start(Request("http://h/"), to: file)
        await untilTrue { rangeServer.drained == 1 }
        if isPaused { connection.pause() }
        #expect(folder.names.count == 2)
        connection.cancel()
        #expect(await failure(of: connection)?.code == .cancelled)
        await untilTrue { [folder] in connection.isFinished && folder.names == ["cities.zip"] }
        #expect(folder.text(of: file) == "old")
        await untilTrue { engine.activity.counts.isIdle && engine.lanes.running == 0 }
        await engine.close()
    }

    @Test func `a download that starts after its connection has ended sends nothing and leaves no file`() async throws {
        let transport = StubTransport()
        let engine = engine { $0.transport = transport }
        let place = ConnectionFile(file)
        place.close(after: .failure(.cancelled))
        let caller = Caller(run: StubRun(DownloadFile(file, limit: .max)))
        await #expect {
            _ = try await place.response(to: Request("http://h/"), over: engine.pipeline, for: caller)
        } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        #expect(transport.requests.isEmpty && folder.names.isEmpty)
        await engine.close()
    }

    @Test func `a download writes no error response to its file`() async throws {
        let server = try ScriptedServer([Answer(status: 404, headers: ["Content-Length: 2"], body: "no")])
        let engine = engine()
        let connection = engine.start(Request(server.url), to: file)
        let error = await failure(of: connection)
        #expect(error?.code == .badStatus && error?.response?.text == "no")
        await untilTrue { [folder] in connection.isFinished && folder.names.isEmpty }
        #expect(connection.state == .finished(.failure))
        await engine.close()
    }

    @Test func `a download sends nothing where it cannot write its file`() async throws {
        let transport = StubTransport()
        let engine = engine { $0.transport = transport }
        let connection = engine.start(Request("http://h/"), to: folder.url.appending(path: "none/cities.zip"))
        let error = await failure(of: connection)
        #expect(error?.code == .cannotWrite && (error?.cause as? POSIXError)?.code == .ENOENT)
        #expect(transport.requests.isEmpty && engine.lanes.running == 0)
        await engine.close()
    }

    @Test func `a download may be as large as its request allows, whatever the engine's limit`() async throws {
        let engine = engine {
            $0.transport = StubTransport(body: "01234")
            $0.bodyLimit = 1
        }
        var request = Request("http://h/")
        request.bodyLimit = 4
        #expect(await failure(of: engine.start(request, to: file))?.code == .bodyTooLarge)
        request.bodyLimit = nil
        #expect(try await engine.start(request, to: file).download.size == 5)
        await engine.close()
    }

    // MARK: Subclasses

    /// Records the responses that it is shown, and whether the file exists by then.
    private final class RecordingConnection: Connection, @unchecked Sendable {
        struct Refused: Error {}

        private let calls = Guarded<[String]>([])
        var seen: [String] { calls.withLock { $0 } }

        override func validate(_ response: Response) throws {
            note("validate", response)
            if request.tags.contains("broken") { throw Refused() }
        }

        override func decode(_ response: Response) throws {
            note("decode", response)
            if request.tags.contains("paused"), seen.count == 2 { pause() }
        }

        private func note(_ call: String, _ response: Response) {
            let isThere = file.map { FileManager.default.fileExists(atPath: $0.path) }
            calls.withLock { $0.append("\(call) \(response.body.count) \(isThere == true)") }
        }
    }

    private func looking(_ tag: String, by engine: Engine) -> RecordingConnection {
        var request = Request("http://h/")
        request.tags = [tag]
        let connection = RecordingConnection(request, to: file)
        engine.start(connection)
        return connection
    }

    @Test func `a download shows a subclass the response before the file has its name`() async throws {
        let engine = engine { $0.transport = StubTransport() }
        let connection = looking("any", by: engine)
        #expect(try await connection.download.size == 4)
        #expect(connection.seen == ["validate 0 false", "decode 0 false"] && folder.names == ["cities.zip"])
        await engine.close()
    }

    @Test func `a download has no file where a subclass refuses the response`() async throws {
        let engine = engine { $0.transport = StubTransport() }
        let connection = looking("broken", by: engine)
        let error = await failure(of: connection)
        #expect(error?.code == .invalidResponse && error?.cause is RecordingConnection.Refused)
        await untilTrue { [folder] in connection.isFinished && folder.names.isEmpty }
        await engine.close()
    }

    @Test func `a download has its whole file when it is paused while a subclass validates the response`() async throws
    {
        let transport = StubTransport()
        let engine = engine { $0.transport = transport }
        let connection = looking("paused", by: engine)
        await untilTrue { [folder] in connection.isPaused && folder.names == ["cities.zip"] }
        #expect(!connection.isFinished)
        connection.resume()
        #expect(try await connection.download.size == 4)
        #expect(connection.seen == ["validate 0 false", "decode 0 false"] && transport.requests.count == 1)
        await engine.close()
    }

    // MARK: Snapshots

    @Test func `a download restored from a snapshot has its file`() async throws {
        let engine = engine { $0.transport = StubTransport() }
        let connection = engine.start(Request("http://h/"), to: file)
        _ = try await connection.download
        let kept = Connection(try ConnectionSnapshot(json: connection.snapshot.json()))
        #expect(kept.isFinished && kept.file?.path == file.path)
        #expect(try await kept.download.size == 4)
        await engine.close()
    }

    @Test func `a download restored from a snapshot of a paused one begins again`() async throws {
        let rangeServer = RangeServer { $0.flows = [.held(1 << 20)] }
        let engine = engine { $0.transport = rangeServer.transport }
        let connection = engine.start(Request("http://h/"), to: file)
        await pause(connection, rangeServer)
        let again = engine.connection(from: try ConnectionSnapshot(json: connection.snapshot.json()))
        connection.cancel()
        engine.start(again)
        #expect(again.isPaused)
        again.resume()
        #expect(try await again.download.size == rangeServer.body.count)
        #expect(rangeServer.ranges == [nil, nil])
        #expect(try Data(contentsOf: file) == rangeServer.body)
        await engine.close()
    }
}
