import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A snapshot of a connection", .limit(minutes: 10)) struct ConnectionSnapshotTests {
    private let server = ManualServer()

    private func engine() -> Engine { .stub(server.transport) }

    /// Restores a snapshot from its encoded form.
    private func restored(_ connection: Connection) throws -> Connection {
        Connection(try ConnectionSnapshot(json: connection.snapshot.json()))
    }

    @Test func `a snapshot of a finished connection delivers its response without sending, to every kind of waiter`()
        async throws
    {
        let transport = StubTransport(status: 404, body: "none")
        let engine = Engine.stub(transport)
        let connection = engine.start(Request("http://h/"))
        _ = try await connection.response
        await untilTrue { connection.isFinished }
        let kept = try restored(connection)
        #expect(kept.isFinished && !kept.isCancelled && kept.state == .finished(.success))
        #expect(try await kept.response == connection.response)
        #expect(await kept.states.reduce(into: []) { $0.append($1) } == [.finished(.success)])
        let (dependent, foreign) = (engine.connection(for: Request("http://h/2")), BlockOperation {})
        dependent.addDependency(kept)
        foreign.addDependency(kept)
        engine.start(dependent)
        engine.start(kept)
        #expect(try await dependent.response.text == "none")
        await OperationQueue().finish([foreign])
        let batch = Batch([kept])
        #expect(try await batch.results[0].get().status == .notFound)
        #expect(transport.requests.count == 2)
    }

    @Test func `a snapshot of a failed connection has its error, without the cause`() async throws {
        let transport = StubTransport { _ throws(TransportError) in
            throw TransportError(.certificateRejected, "no", cause: CocoaError(.fileNoSuchFile))
        }
        let connection = Engine.stub(transport).start(Request("http://h/"))
        await #expect(throws: ConnectionError.self) { try await connection.response }
        let error = await #expect(throws: ConnectionError.self) { try await restored(connection).response }
        #expect(error?.code == .tlsFailed && error?.message == "no" && error?.cause == nil)
        #expect(connection.snapshot.error?.cause != nil)
    }

    @Test func `a snapshot includes the response and the attempts of an error`() throws {
        var error = ConnectionError(.badStatus, "no", cause: CocoaError(.fileNoSuchFile))
        (error.response, error.attempts) = (
            ResponseJSONTests.full, ResponseJSONTests.full.attempts
        )
        let snapshot = ConnectionSnapshot(
            request: Request("http://h/"), state: .finished(.failure), result: .failure(error))
        let read = try #require(try ConnectionSnapshot(json: snapshot.json()).error)
        #expect(read.response == error.response && read.attempts == error.attempts)
        #expect(read.openUntil == nil)
    }

    @Test func `a snapshot includes the time until which a circuit is open`() throws {
        var error = ConnectionError(.circuitOpen, "no")
        error.openUntil = Date(timeIntervalSince1970: 1000.25)
        let snapshot = ConnectionSnapshot(
            request: Request("http://h/"), state: .finished(.failure), result: .failure(error))
        #expect(try ConnectionSnapshot(json: snapshot.json()).error?.openUntil == error.openUntil)
    }

    @Test func `a snapshot of a canceled connection is a canceled one, finished or not`() async throws {
        let connection = engine().connection(for: Request("http://h/"))
        connection.cancel()
        #expect(connection.snapshot.state == .ready)
        let kept = try restored(connection)
        #expect(kept.isFinished && kept.isCancelled && kept.state == .finished(.cancelled))
        let error = await #expect(throws: ConnectionError.self) { try await kept.response }
        #expect(error?.code == .cancelled)
    }

    @Test func `a snapshot of a running connection does not affect it, and begins again`() async throws {
        let engine = engine()
        let connection = engine.start(Request("http://h/"))
        await untilTrue { server.flying.count == 1 }
        let snapshot = connection.snapshot
        #expect(snapshot.state == .executing(attempt: 1) && connection.state == .executing(attempt: 1))
        let again = engine.connection(from: try ConnectionSnapshot(json: snapshot.json()))
        #expect(again.state == .ready)
        server.landAll()
        _ = try await connection.response
        engine.start(again)
        await untilTrue { server.flying.count == 1 }
        server.landAll()
        #expect(try await again.response.text == "http://h/")
    }

    @Test func `a snapshot of a paused connection is paused, and needs one resume`() async throws {
        let engine = engine()
        let connection = engine.connection(for: Request("http://h/"))
        connection.pause()
        connection.pause()
        let again = engine.connection(from: try ConnectionSnapshot(json: connection.snapshot.json()))
        engine.start(again)
        #expect(again.isPaused && server.flying.isEmpty)
        again.resume()
        await untilTrue { server.flying.count == 1 }
        server.landAll()
        _ = try await again.response
    }

    @Test func `a snapshot of a paused connection has a response that arrived, so that nothing is sent twice`()
        async throws
    {
        let engine = engine()
        let connection = engine.start(Request("http://h/", method: .post))
        await untilTrue { server.flying.count == 1 }
        connection.pause()
        server.landAll()
        await untilTrue { connection.core.withLock { $0.life.known != nil } }
        #expect(connection.state == .paused && connection.snapshot.state == .paused)
        let kept = try restored(connection)
        #expect(try await kept.response.text == "http://h/" && kept.isFinished)
        connection.resume()
        _ = try await connection.response
    }

    @Test func `a snapshot can be retried by the engine that restores it`() async throws {
        let engine = Engine.stub(StubTransport())
        let connection = engine.start(Request("http://h/"))
        _ = try await connection.response
        await untilTrue { connection.isFinished }
        #expect(try await engine.connection(from: connection.snapshot).retry().response.text == "body")
    }

    // MARK: Encoding

    static let rows: [(ConnectionState, ConnectionLife.Outcome?, String)] = [
        (.ready, nil, #""state":"ready""#), (.paused, nil, #""state":"paused""#),
        (.executing(attempt: 3), nil, #""state":"executing""#),
        (.waiting(until: Date(timeIntervalSince1970: 1_767_225_600.125)), nil, #""until":1767225600.125"#),
        (.finished(.success), .success(Response(status: .ok)), #""response":{"status":200}"#),
        (
            .finished(.failure), .failure(ConnectionError(.timedOut, "late")),
            #""error":{"code":"timedOut","message":"late"}"#
        ),
        (.finished(.cancelled), .failure(.cancelled), #""code":"cancelled""#),
    ]

    @Test(arguments: rows.indices) func `a snapshot decodes as it was encoded, with any coder`(index: Int) throws {
        let (state, result, part) = Self.rows[index]
        let snapshot = ConnectionSnapshot(request: RequestJSONTests.full, state: state, result: result)
        let text = try snapshot.json()
        #expect(String(decoding: text, as: UTF8.self).contains(part))
        let coded = try JSONDecoder().decode(ConnectionSnapshot.self, from: JSONEncoder().encode(snapshot))
        for read in [try ConnectionSnapshot(json: text), coded] {
            #expect(read.request == snapshot.request && read.state == state)
            #expect(try read.json() == text)
        }
    }

    @Test func `a snapshot has an encoded form that never changes`() throws {
        let snapshot = ConnectionSnapshot(
            request: Request("http://h/"), state: .executing(attempt: 2), result: nil)
        let text = #"""
            {"attempt":2,"request":{"method":"GET","url":"http://h/","version":1},"state":"executing","version":1}
            """#
        #expect(String(decoding: try snapshot.json(), as: UTF8.self) == text)
    }

    @Test func `a snapshot of a download has the file, and its size when it is whole`() throws {
        let snapshot = ConnectionSnapshot(
            request: Request("http://h/"), state: .finished(.success), result: .success(Response(status: .ok)),
            file: URL(filePath: "/tmp/cities.zip"), size: 4)
        let text = #"""
            {"file":"/tmp/cities.zip","request":{"method":"GET","url":"http://h/","version":1},"response":{"status":200},\#
            "size":4,"state":"finished","version":1}
            """#
        #expect(String(decoding: try snapshot.json(), as: UTF8.self) == text)
        let read = try ConnectionSnapshot(json: Data(text.utf8))
        #expect(read.file?.path == "/tmp/cities.zip" && read.size == 4)
        #expect(ConnectionSnapshot(request: Request("http://h/"), state: .ready, result: nil).file == nil)
    }

    @Test func `a snapshot has secrets by their names only`() async throws {
        var request = Request("http://h/", method: .post, body: .file(URL(filePath: "/tmp/report.pdf")))
        request.credentials = [.bearer(.secret("token"))]
        let engine = Engine.stub(StubTransport(), KnownSecrets(["token": "s3cret"]))
        let connection = engine.start(request)
        // The file does not exist.
        await #expect(throws: ConnectionError.self) { try await connection.response }
        let text = String(decoding: try connection.snapshot.json(), as: UTF8.self)
        #expect(text.contains(#""secret":"token""#) && text.contains(#""file":"/tmp/report.pdf""#))
        #expect(!text.contains("s3cret"))
    }

    @Test func `a snapshot is not encoded where a secret has no name`() {
        var request = Request("http://h/")
        request.credentials = [.bearer(.unnamed("s3cret"))]
        let connection = Connection(request)
        let error = #expect(throws: RequestError.self) { try connection.snapshot.json() }
        #expect(error?.code == .unnamedSecret && error?.message.contains("s3cret") == false)
    }

    @Test(arguments: [
        ("{}", #"key "request""#), (#"{"request":{}}"#, #"key "url""#),
        (#"{"request":{"url":"http://h"},"version":2}"#, "a newer Diamond"),
        (#"{"request":{"url":"http://h"},"extra":1}"#, #"key "extra""#),
        (#"{"request":{"url":"http://h"},"state":"x"}"#, "write one of ready"),
        (#"{"request":{"url":"http://h"},"state":"waiting"}"#, #"key "until""#),
        (#"{"request":{"url":"http://h"},"state":"ready","attempt":1}"#, #"key "attempt""#),
        (#"{"request":{"url":"http://h"},"state":"executing","attempt":0}"#, "from 1 on"),
        (#"{"request":{"url":"http://h"},"state":"finished"}"#, "without response or error"),
        (#"{"request":{"url":"http://h"},"state":"finished","file":"/f","response":{"status":200}}"#, #"key "size""#),
        (#"{"request":{"url":"http://h"},"error":{}}"#, #"key "code" of the error"#),
        (#"{"request":{"url":"http://h"},"error":{"code":"x"},"response":{"status":200}}"#, #"key "error""#),
    ]) func `an invalid snapshot is refused with the key and the remedy`(text: String, part: String) {
        let error = #expect(throws: RequestError.self) { try ConnectionSnapshot(json: Data(text.utf8)) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }
}

extension ConnectionSnapshot {
    fileprivate var error: ConnectionError? {
        if case .failure(let error) = result { error } else { nil }
    }
}

extension OperationQueue {
    fileprivate func finish(_ operations: [Operation]) async {
        for operation in operations { addOperation(operation) }
        await withCheckedContinuation { waiter in addBarrierBlock { waiter.resume() } }
    }
}
