import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// The identities of queued requests, and the identities that they are sent as.
@Suite("The identities of queued requests", .limit(minutes: 5)) struct ReplayIdentityTests {
    let fixture = ReplayFixture()

    @Test func `a queued request of one user is never sent as another user`() async throws {
        let login = ReplayFixture.Login()
        login.current.withLock { $0 = "anna" }
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine { $0.credentials = login }
        var request = fixture.note(.onFailure)
        request.credentials = [.bearer(.secret("api"))]
        let error = try await fixture.queued(request, by: engine)
        let id = try #require(error.jobID)
        #expect(try engine.queue().job(id)?.identity == "anna")

        // Bert signs in, without a notice that Anna has left.
        login.current.withLock { $0 = "bert" }
        fixture.serve { _ in .stub(status: 201) }
        fixture.clock.advance(by: .seconds(60))
        try await engine.replayer().replay()
        #expect(fixture.transport.requests.count == 1)
        #expect(
            try engine.queue().job(id).map { [$0.state.description, $0.reason.description] } == [
                "held", "unauthorized",
            ])

        login.current.withLock { $0 = "anna" }
        #expect(try await engine.queue().release(.identity("anna")) == 1)
        #expect(try await engine.replayer().replay().finished == 1)
        #expect(
            fixture.transport.requests.map { $0.headers[.authorization] }
                == Array(repeating: "Bearer token-of-anna", count: 2))
        for suffix in ["", "-wal"] {
            let bytes = try Data(contentsOf: URL(filePath: fixture.temporary.store.replayPath + suffix))
            #expect(bytes.range(of: Data("token-of-anna".utf8)) == nil)
        }
    }

    /// Does not return the identity before its gate opens.
    private struct GatedIdentityProvider: CredentialProvider {
        let asked = Gate()
        let gate = Gate()

        func secret(_ name: String, for identity: String?) async throws -> String? { nil }

        func identity(for request: Request) async throws -> String? {
            asked.open()
            await gate.wait()
            return "anna"
        }
    }

    @Test func `an engine closed while it asks for the identity leaves the job unaffected`() async throws {
        let provider = GatedIdentityProvider()
        let engine = fixture.engine { $0.credentials = provider }
        var request = fixture.note(.durable)
        request.identity = "anna"
        let id = try #require(try await engine.queue().enqueue(request))
        let run = Task { try await engine.replayer().replay() }
        await provider.asked.wait()
        await engine.close()
        provider.gate.open()
        _ = try? await run.value
        let job = try #require(try ReplayQueue(fixture.temporary.store).job(id))
        #expect(job.state == .ready && job.attempts == 0 && fixture.transport.requests.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a durable request is not sent as another user who signs in before it is sent`(
        isCutOff: Bool
    ) async throws {
        let (login, isThere) = (ReplayFixture.Login(), Gate())
        login.current.withLock { $0 = "anna" }
        fixture.serve(ReplayFixture.silence(isThere, isSent: true))
        let engine = fixture.engine { $0.credentials = login }
        if !isCutOff { engine.lanes.pauseAll() }
        let connection = engine.start(fixture.note(.durable, method: .put))
        if isCutOff { await isThere.wait() } else { await untilTrue { engine.lanes.waiting == 1 } }
        if isCutOff { connection.pause() }

        login.current.withLock { $0 = "bert" }
        fixture.serve { _ in .stub(status: 201) }
        if isCutOff { connection.resume() } else { engine.lanes.resumeAll() }
        let error = try await fixture.queued { () throws(ConnectionError) in _ = try await connection.response }
        let (queue, id) = (try engine.queue(), try #require(error.jobID))
        #expect(fixture.transport.requests.count == (isCutOff ? 1 : 0))
        let job = try #require(try queue.job(id))
        #expect(job.state == .held && job.reason == .unauthorized && job.identity == "anna")
        #expect((job.unknownSince != nil) == isCutOff)

        login.current.withLock { $0 = "anna" }
        #expect(try await queue.release(.identity("anna")) == 1)
        #expect(try await engine.replayer().replay().finished == 1)
    }

    @Test func `a durable request waits where the identity is not known`() async throws {
        let login = ReplayFixture.Login()
        login.current.withLock { $0 = "anna" }
        let engine = fixture.engine { $0.credentials = login }
        engine.lanes.pauseAll()
        let connection = engine.start(fixture.note(.durable))
        await untilTrue { engine.lanes.waiting == 1 }
        login.isLocked.withLock { $0 = true }
        engine.lanes.resumeAll()
        _ = try await fixture.queued { () throws(ConnectionError) in _ = try await connection.response }
        #expect(try engine.queue().jobs().map(\.reason) == [.backoff] && fixture.transport.requests.isEmpty)
    }

    @Test func `jobs of a user who signs out are held, also new ones`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine()
        var request = fixture.note(.onFailure)
        request.identity = "anna"
        _ = try await fixture.queued(request, by: engine)
        try await engine.forget(identity: "anna")
        let all = ReplayFilter(identity: "anna")
        #expect(try engine.queue().jobs(all).map(\.state) == [.held])
        _ = try await fixture.queued(request, by: engine)
        #expect(try engine.queue().jobs(all).map(\.state) == [.held, .held])
        #expect(try await engine.queue().release(.identity("anna")) == 2)
    }

    @Test func `a durable request that waits for its permit when its user signs out is not sent`() async throws {
        let engine = fixture.engine()
        engine.lanes.pauseAll()
        var request = fixture.note(.durable)
        request.identity = "anna"
        let connection = engine.start(request)
        await untilTrue { engine.lanes.waiting == 1 }
        try await engine.forget(identity: "anna")
        engine.lanes.resumeAll()
        _ = try await fixture.queued { () throws(ConnectionError) in _ = try await connection.response }
        let queue = try engine.queue()
        #expect(try queue.jobs(ReplayFilter(states: [.held])).isEmpty)
        #expect(try queue.jobs(ReplayFilter(identity: "anna")).map(\.state) == [.held])
        #expect(fixture.transport.requests.isEmpty)
        #expect(try await queue.release(.identity("anna")) == 1)
        #expect(try await engine.replayer().replay().finished == 1)
    }

    @Test(arguments: [
        Request("http://u:p@api.test/"), Request("http://api.test/?api_key=1"),
        Request("http://api.test/", parameters: ["access_token": "1"]),
        Request("http://api.test/", headers: [.authorization: "Bearer 1"]),
        Request("http://api.test/", method: .post, body: .json(["a": ["password": "1"]])),
        Request("http://api.test/", method: .post, body: .form(["password": "1"])),
        Request("http://api.test/", method: .post, parameters: ["user": ["password": "1"]]),
        Request("http://api.test/", method: .post, body: .form(["user[pwd]": "1"])),
        Request("http://api.test/", method: .post, body: .bytes(Data("a=1&user%5Bpwd%5D=1".utf8), contentType: form)),
        Request("http://api.test/", method: .post, headers: [.contentType: form], body: .bytes(Data("sid=1".utf8))),
        Request("http://api.test/", method: .post, body: .bytes(Data(#"{"pwd": 1, "id": 12345678901234567890}"#.utf8))),
        Request("http://api.test/", method: .post, body: .bytes(Data(#""token": 1"#.utf8), contentType: "a/json")),
        Request("http://api.test/", method: .post, body: .bytes(Data("{\"a\": 1}\n{\"a\": \"\", \"pwd\" :1}".utf8))),
        Request("http://api.test/", method: .post, body: .multipart([MultipartPart("password", "1")])),
        Request("http://api.test/", method: .post, body: .multipart([MultipartPart("a", #"{"pwd": 1}"#)])),
        encodedAsJSON(Request("http://api.test/", parameters: ["user": ["pwd": 1]])),
        encodedAsJSON(Request("http://api.test/", method: .post, body: .form(["user": ["pwd": 1]]))),
    ])
    func `a request with an unnamed secret is neither queued nor sent`(_ request: Request) async throws {
        let engine = fixture.engine()
        var request = request
        request.replay = .onFailure
        let kept = request
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(kept) }
        #expect(error?.code == .badRequest)
        #expect(fixture.transport.requests.isEmpty)
        await #expect(throws: ReplayError.self) { try await engine.queue().enqueue(kept) }
    }

    @Test func `a queued request has no fragment in its URL`() async throws {
        let queue = try ReplayQueue(fixture.temporary.store)
        let id = try await queue.enqueue(Request("http://api.test/a?b=1#access_token=s3cret", method: .put))
        #expect(try queue.request(of: #require(id))?.url == "http://api.test/a?b=1")
    }

    private static let form = "application/x-www-form-urlencoded"

    private static func encodedAsJSON(_ request: Request) -> Request {
        var request = request
        request.encoding.objects = .json
        return request
    }

    @Test(
        arguments: [
            .bytes(Data("pwd=1".utf8)), .bytes(Data("a=pwd&pwd".utf8), contentType: form),
            .bytes(Data(#"{"a": "pwd"}"#.utf8)), .bytes(Data(#"[10:00] ERROR "token expired""#.utf8)),
            .bytes(Data(#"{"id":12345678901234567890,"note":"lost my session"}"#.utf8)),
            .bytes(Data("{\"e\":\"password reset\"}\n{\"e\":\"close\"}".utf8), contentType: "application/x-ndjson"),
            .form(["pwd": nil, "a": "pwd"]),
            .multipart([MultipartPart("a", "pwd"), MultipartPart("password", file: URL(filePath: "/tmp/diamond"))]),
        ] as [RequestBody])
    func `a request whose body only mentions a secret is queued`(_ body: RequestBody) async throws {
        let engine = fixture.engine()
        let id = try await engine.queue().enqueue(Request("http://api.test/", method: .post, body: body))
        #expect(id != nil)
    }
}
