import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Jobs whose responses arrive without their bodies: the head decides where the body is not needed.
@Suite("Jobs whose responses arrive without their bodies", .limit(minutes: 5)) struct BrokenBodyReplayTests {
    /// A status, and its effect on a job.
    struct StatusCase: Sendable, CustomTestStringConvertible {
        var status: Int
        var headers: HTTPFields = [:]
        var state: ReplayState
        var reason: ReplayReason

        var testDescription: String { "\(status)" }

        static let all = [
            StatusCase(status: 201, state: .done, reason: .finished),
            StatusCase(status: 204, state: .done, reason: .finished),
            StatusCase(status: 300, state: .done, reason: .finished),
            StatusCase(status: 400, state: .dead, reason: .refused),
            StatusCase(status: 404, state: .dead, reason: .refused),
            StatusCase(status: 503, state: .waiting, reason: .backoff),
            StatusCase(status: 429, headers: [.retryAfter: "30"], state: .waiting, reason: .retryAfter),
        ]

        var isFinal: Bool { state.isEnd }
    }

    static let breaks: [TransportError.Code] = [
        .truncatedBody, .connectionLost, .badResponse, .timedOut, .bodyTooLarge,
    ]

    let fixture = ReplayFixture()

    private func serve(_ verdict: StatusCase, breaking code: TransportError.Code) {
        fixture.serve { _ in Self.answer(verdict, breaking: code) }
    }

    private static func answer(_ verdict: StatusCase, breaking code: TransportError.Code) -> TransportResponse {
        let pieces = AsyncThrowingStream<Data, any Error> { body in
            body.yield(Data("{".utf8))
            body.finish(throwing: TransportError(code, "the body broke", serverMayHaveActed: true))
        }
        return TransportResponse(
            status: .init(code: verdict.status), headers: verdict.headers, body: BodyStream(pieces))
    }

    private func job(_ engine: Engine) throws -> ReplayJob { try #require(try engine.queue().jobs().first) }

    @Test(arguments: StatusCase.all, breaks)
    func `a durable request with a broken response body is sent once, and its status decides`(
        _ verdict: StatusCase, _ code: TransportError.Code
    ) async throws {
        serve(verdict, breaking: code)
        let engine = fixture.engine()
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(fixture.note(.durable)) }
        // Callers that wait for the body learn that it is missing.
        let broken = ConnectionError(TransportError(code, "", serverMayHaveActed: true)).code
        #expect(error?.code == (verdict.isFinal ? broken : .queued))
        let job = try job(engine)
        #expect(job.state == verdict.state && job.reason == verdict.reason && job.status == verdict.status)
        #expect(job.attempts == (verdict.isFinal ? 0 : 1))
        #expect(fixture.transport.requests.count == 1)
    }

    @Test(arguments: StatusCase.all, breaks)
    func `a job with a broken response body is sent once by a replayer, and its status decides`(
        _ verdict: StatusCase, _ code: TransportError.Code
    ) async throws {
        serve(verdict, breaking: code)
        let engine = fixture.engine()
        let queue = try engine.queue()
        let id = try #require(try await queue.enqueue(fixture.note(.durable)))
        _ = try await engine.replayer().replay()
        #expect(try queue.job(id)?.state == verdict.state && queue.job(id)?.reason == verdict.reason)
        #expect(fixture.transport.requests.count == 1)
    }

    @Test(arguments: StatusCase.all)
    func `a job's failures contain the status and the error of a broken body`(_ verdict: StatusCase) async throws {
        serve(verdict, breaking: .truncatedBody)
        let engine = fixture.engine()
        let queue = try engine.queue()
        let id = try #require(try await queue.enqueue(fixture.note(.durable)))
        _ = try await engine.replayer().replay()
        let failure = try #require(try queue.failures(of: id).first)
        #expect(failure.code == (verdict.status < 400 ? "connectionLost" : "status \(verdict.status)"))
        let message = "the server answered \(verdict.status), and its body could not be read: the body broke"
        #expect(failure.message == message)
        #expect(try queue.failures(of: id).count == 1)
    }

    @Test(arguments: StatusCase.all)
    func `an on-failure request with a broken response body is queued if its status is retryable`(
        _ verdict: StatusCase
    ) async throws {
        serve(verdict, breaking: .connectionLost)
        let engine = fixture.engine()
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(fixture.note(.onFailure)) }
        #expect(error?.code == (verdict.isFinal ? .connectionLost : .queued))
        #expect(try engine.queue().jobs().map(\.state) == (verdict.isFinal ? [] : [.waiting]))
        #expect(fixture.transport.requests.count == 1)
    }

    // MARK: Safe methods

    /// The result of a safe request is the body of its success.
    static let safe = [
        StatusCase(status: 200, state: .waiting, reason: .backoff),
        StatusCase(status: 206, state: .waiting, reason: .backoff),
        StatusCase(status: 300, state: .waiting, reason: .backoff),
        StatusCase(status: 400, state: .dead, reason: .refused),
        StatusCase(status: 404, state: .dead, reason: .refused),
        StatusCase(status: 503, state: .waiting, reason: .backoff),
        StatusCase(status: 429, headers: [.retryAfter: "30"], state: .waiting, reason: .retryAfter),
    ]

    private func question(_ policy: ReplayPolicy) -> Request {
        var request = fixture.note(policy, method: .get)
        request.body = nil
        return request
    }

    @Test(arguments: safe, [ReplayPolicy.durable, .onFailure])
    func `a safe request with a broken response body is not completed by a success`(
        _ verdict: StatusCase, _ policy: ReplayPolicy
    ) async throws {
        serve(verdict, breaking: .connectionLost)
        let engine = fixture.engine()
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(question(policy)) }
        #expect(error?.code == (verdict.isFinal ? .connectionLost : .queued))
        let jobs = try engine.queue().jobs()
        let isKept = policy.mode == .durable || !verdict.isFinal
        #expect(jobs.map(\.state) == (isKept ? [verdict.state] : []))
        #expect(jobs.map(\.reason) == (isKept ? [verdict.reason] : []))
    }

    @Test(arguments: safe)
    func `a safe job with a broken response body is not completed by a success`(_ verdict: StatusCase) async throws {
        serve(verdict, breaking: .truncatedBody)
        let engine = fixture.engine()
        let queue = try engine.queue()
        let id = try #require(try await queue.enqueue(question(.durable)))
        _ = try await engine.replayer().replay()
        #expect(try queue.job(id)?.state == verdict.state && queue.job(id)?.reason == verdict.reason)
        #expect(fixture.transport.requests.count == 1)
    }

    @Test(arguments: [(200, 3), (300, 3), (404, 1), (503, 3)], [ReplayPolicy.durable, .onFailure])
    func `a queued request with a safe method and a broken response body is retried after a success`(
        _ row: (status: Int, count: Int), _ policy: ReplayPolicy
    ) async throws {
        serve(StatusCase(status: row.status, state: .done, reason: .finished), breaking: .connectionLost)
        let engine = fixture.engine {
            $0.retry = RetryPolicy(attempts: 3, baseDelay: .zero)
            $0.retry.throttledDelay = .zero
            $0.clock = ContinuousClock()
        }
        await #expect(throws: ConnectionError.self) { try await engine.send(question(policy)) }
        #expect(fixture.transport.requests.count == row.count)
    }

    @Test(arguments: [
        (201, HTTPRequest.Method.post, true), (300, .post, true), (304, .put, true), (307, .post, false),
        (404, .delete, true), (200, .get, false), (304, .get, false), (302, .get, false), (404, .get, true),
        (503, .head, true),
    ])
    func `the status decides without a body, except for redirects and successes of safe methods`(
        _ status: Int, _ method: HTTPRequest.Method, _ decides: Bool
    ) {
        #expect(HTTPResponse.Status(code: status).decides(method) == decides)
    }

    // MARK: Retries

    @Test(arguments: [(201, 1), (300, 1), (404, 1), (503, 3)], [ReplayPolicy.durable, .onFailure])
    func `a queued request with a broken response body is retried only after a retryable status`(
        _ row: (status: Int, count: Int), _ policy: ReplayPolicy
    ) async throws {
        let verdict = StatusCase(status: row.status, state: .done, reason: .finished)
        serve(verdict, breaking: .connectionLost)
        let engine = fixture.engine {
            $0.retry = RetryPolicy(attempts: 3, baseDelay: .zero)
            $0.retry.throttledDelay = .zero
            $0.clock = ContinuousClock()
        }
        await #expect(throws: ConnectionError.self) { try await engine.send(fixture.note(policy)) }
        #expect(fixture.transport.requests.count == row.count)
    }

    @Test func `a job whose caller is canceled during the answer's body is completed`() async throws {
        let isThere = Gate()
        fixture.serve { _ in
            let pieces = AsyncThrowingStream<Data, any Error> { body in
                body.yield(Data("{".utf8))
                body.onTermination = { _ in withExtendedLifetime(body) {} }
                isThere.open()
            }
            return TransportResponse(status: .created, headers: [:], body: BodyStream(pieces))
        }
        let engine = fixture.engine()
        let queue = try engine.queue()
        let caller = Task { try await engine.send(fixture.note(.durable)) }
        await isThere.wait()
        await untilTrue { (try? queue.job(1)?.sentAt) != nil }
        caller.cancel()
        _ = await caller.result
        await untilTrue { (try? queue.jobs().map(\.state)) != [.running] }
        #expect(try queue.jobs().map(\.state) == [.done])
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func `a redirect whose body breaks is not followed, and leaves its job waiting`() async throws {
        let verdict = StatusCase(status: 307, headers: [.location: "/elsewhere"], state: .waiting, reason: .backoff)
        serve(verdict, breaking: .connectionLost)
        let engine = fixture.engine()
        await #expect(throws: ConnectionError.self) { try await engine.send(fixture.note(.durable)) }
        let job = try job(engine)
        #expect(job.state == .waiting && job.unknownSince != nil)
    }

    #if Curl && os(Linux)
    private func note(to server: RawServer) -> Request {
        var note = fixture.note(.durable)
        note.url = server.base + "/notes"
        return note
    }

    @Test(arguments: [
        "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{}",
        "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        "HTTP/1.1 201 Created\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\nno zip",
        "HTTP/1.1 201 Created\r\nContent-Length: 2000000\r\n\r\n{}",
    ])
    func `a durable request to a server whose bodies break is sent once, and completed`(_ answer: String) async throws {
        let count = Guarded(0)
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            count.withLock { $0 += 1 }
            connection.write(answer)
        }
        let engine = fixture.engine {
            $0.transport = CurlTransport()
            $0.bodyLimit = 1_000_000
            $0.retry = RetryPolicy(attempts: 3)
        }
        let note = note(to: server)
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(note) }
        #expect(error?.code != .queued)
        #expect(try job(engine).state == .done)
        #expect(count.withLock { $0 } == 1)
        await engine.close()
    }
    #endif
}
