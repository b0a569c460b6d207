import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Jobs that store their answers until these are collected", .limit(minutes: 5)) struct ReplayAnswersTests {
    private let files = TemporaryStore()
    private static let answer = ReplayAnswer(
        status: .created, location: "/notes/7", body: Data(#"{"id": 7}"#.utf8))

    private func request(_ method: HTTPRequest.Method = .post, keeps: Bool = true) -> Request {
        var request = Request("https://a.example/notes", method: method, body: .json(["n": 1]))
        request.replay = ReplayPolicy(.durable, orderingKey: "note", unique: "note", uniqueness: .merge)
        request.replay.storesAnswer = keeps
        return request
    }

    private func engine(_ status: Int, _ headers: HTTPFields = [:], body: String = "") -> Engine {
        Engine(Engine.Configuration(testing: StubTransport(status: status, headers: headers, body: body), store: files))
    }

    @Test(arguments: [201, 422])
    func `the answer to a job is stored, whatever sends the job`(_ status: Int) async throws {
        let engine = engine(status, [.location: "/notes/7?token=secret#a"], body: #"{"id": 7}"#)
        _ = await Result { () async throws(ConnectionError) in try await engine.send(request()) }
        try await engine.queue().enqueue(request())
        await (try engine.replayer()).replay()
        let jobs = try engine.queue().jobsStoringAnswers().map(\.job)
        #expect(jobs.count == 2)
        for job in jobs {
            let kept = try #require(try engine.queue().answeredJob(job.id))
            #expect(kept.answer?.status.code == status && kept.answer?.location == "/notes/7")
            #expect(kept.answer?.body == Data(#"{"id": 7}"#.utf8) && kept.failure == nil)
            #expect(kept.request?.body == .json(["n": 1]))
        }
        try await engine.queue().consumeAnswers(of: jobs.map(\.id))
        #expect(try engine.queue().jobsStoringAnswers().isEmpty && engine.queue().answeredJob(jobs[0].id) == nil)
    }

    @Test func `an answer is stored with the fields that may be stored`() async throws {
        let fields: HTTPFields = [
            .contentType: "application/problem+json", .retryAfter: "9", .connection: "close", .setCookie: "a=b",
            .authorization: "token",
        ]
        let engine = engine(422, fields, body: "{}")
        _ = await Result { () async throws(ConnectionError) in try await engine.send(request()) }
        let answer = try #require(try engine.queue().answeredJob(1)?.answer)
        #expect(answer.headers == [.contentType: "application/problem+json", .retryAfter: "9"])
    }

    @Test func `a secret that a problem repeats is not stored with the answer`() async throws {
        var configuration = Engine.Configuration(
            testing: StubTransport(
                status: 422, headers: [.contentType: "application/problem+json"],
                body: #"{"detail": "the token token-of-anna is unknown"}"#), store: files)
        let login = ReplayFixture.Login()
        login.current.withLock { $0 = "anna" }
        configuration.credentials = login
        let engine = Engine(configuration)
        var request = request()
        request.credentials = [.bearer(.secret("token"))]
        _ = await Result { () async throws(ConnectionError) in try await engine.send(request) }
        let answer = try #require(try engine.queue().answeredJob(1)?.answer)
        let body = String(decoding: answer.body ?? Data(), as: UTF8.self)
        #expect(body.contains("the token ") && !body.contains("token-of-anna"))
        #expect(answer.response(from: "").problem?.detail?.contains(" is unknown") == true)
    }

    @Test(arguments: [nil, [.contentType: "text/plain"]] as [HTTPFields?])
    func `an answer whose fields were changed on disk is damaged`(_ changed: HTTPFields?) async throws {
        let engine = engine(422, [.contentType: "application/json"])
        _ = await Result { () async throws(ConnectionError) in try await engine.send(request()) }
        let queue = try engine.queue()
        try await queue.writer.write { (connection, _) throws(SQLiteError) in
            try connection.run("UPDATE answer SET headers = \(changed.map { HeaderBlock.bytes(of: $0) })")
        }
        #expect(try queue.answeredJob(1)?.answer == nil && queue.answeredJob(1)?.failure != nil)
    }

    @Test func `a job that does not ask for its answer stores none`() async throws {
        let engine = engine(201)
        _ = try await engine.send(request(keeps: false))
        #expect(try engine.queue().jobsStoringAnswers().isEmpty)
    }

    @Test func `a job is not deleted before its answer is collected`() throws {
        let fixture = try ReplayQueueFixture()
        var policy = ReplayPolicy(.durable, orderingKey: "note")
        policy.storesAnswer = true
        let owner = try fixture.owner()
        let kept = try fixture.add("POST", policy)
        let plain = try fixture.add()
        for job in try fixture.claim(2, by: owner) {
            try fixture.write { (connection, ledger) throws(SQLiteError) in
                _ = try ReplayTable.finish(
                    job.id, token: job.token, ReplayReport(.success, answer: Self.answer, draw: 0), on: connection,
                    ledger: &ledger)
            }
        }
        func forget() throws {
            fixture.now += 40 * 86_400_000
            _ = try fixture.write { (connection, ledger) throws(SQLiteError) in
                try ReplayTable.deleteEnded(beyond: ReplayRetention(), on: connection, ledger: &ledger)
            }
        }
        try forget()
        #expect(try fixture.job(plain) == nil && fixture.job(kept) != nil)
        try fixture.write { (connection, ledger) throws(SQLiteError) in
            try ReplayTable.markConsumed(kept, at: ledger.now, on: connection)
        }
        try forget()
        #expect(try fixture.job(kept) == nil)
    }

    @Test(arguments: [
        "status = 200", "location = '/notes/8'", "location = NULL", "body = x'00'", "body = NULL", "checksum = NULL",
        "status = 9",
    ])
    func `a damaged answer is not delivered`(_ damage: String) async throws {
        let engine = engine(201, [.location: "/notes/7"], body: "{}")
        _ = try await engine.send(request())
        let queue = try engine.queue()
        let id = try #require(try queue.jobsStoringAnswers().first?.job.id)
        try queue.database.write { (connection) throws(SQLiteError) in
            try connection.execute("UPDATE answer SET \(damage)")
        }
        let kept = try #require(try queue.answeredJob(id))
        #expect(kept.answer == nil && kept.failure?.message.contains("damaged") == true)
    }

    @Test func `a job that ends unsent has no answer, but the reason`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        let id = try #require(try await queue.enqueue(request()))
        #expect(try queue.answeredJob(id)?.failure == nil)
        try await queue.discard(id)
        let kept = try #require(try queue.answeredJob(id))
        #expect(kept.answer == nil && kept.failure?.message.contains("discarded") == true)
    }

    @Test func `an object that is created and deleted before it was sent leaves no answer`() async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        try await queue.enqueue(request())
        #expect(try await queue.enqueue(request(.delete)) == nil)
        #expect(try queue.jobsStoringAnswers().isEmpty)
    }

    @Test func `a job that is redriven stores an answer again`() async throws {
        let engine = engine(422)
        _ = await Result { () async throws(ConnectionError) in try await engine.send(request()) }
        let queue = try engine.queue()
        let id = try #require(try queue.jobsStoringAnswers().first?.job.id)
        try await queue.consumeAnswers(of: [id])
        try await queue.redrive(id)
        #expect(try queue.jobsStoringAnswers().map(\.job.id) == [id])
    }

    @Test(arguments: [("PUT", "PATCH", "PUT"), ("PATCH", "PUT", "PUT"), ("POST", "PATCH", "POST")])
    func `two writes of one object become one job`(_ first: String, _ second: String, _ merged: String) async throws {
        let queue = try ReplayQueue(files.store, clock: .still)
        var request = request(try #require(HTTPRequest.Method(first)))
        (request.body, request.replay.metadata) = (.json(["a": 1, "b": 1]), ["call": .string(first)])
        try await queue.enqueue(request)
        (request.method, request.body) = (try #require(HTTPRequest.Method(second)), .json(["b": 2]))
        request.replay.metadata = ["call": .string(second)]
        let id = try #require(try await queue.enqueue(request))
        let job = try #require(try queue.job(id))
        #expect(job.method == merged && job.metadata["call"] == .string(merged))
        #expect(try queue.request(of: id)?.body == .json(second == "PUT" ? ["b": 2] : ["a": 1, "b": 2]))
    }

    @Test func `the encoded form of a request says whether its answer is stored`() throws {
        let written = try request().json()
        #expect(String(decoding: written, as: UTF8.self).contains(#""keepsAnswer":true"#))
        #expect(try Request(json: written).replay.storesAnswer)
        #expect(try !Request(json: request(keeps: false).json()).replay.storesAnswer)
        #expect(throws: RequestError.self) {
            try Request(json: Data(#"{"url": "/", "replay": {"mode": "durable", "keepsAnswer": 1}}"#.utf8))
        }
    }
}
