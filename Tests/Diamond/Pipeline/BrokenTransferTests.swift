import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A transfer that breaks", .limit(minutes: 5)) struct BrokenTransferTests {
    typealias Answer = ScriptedServer.Answer

    private let temporary = TemporaryStore()
    private let wall = ManualClock()

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        // The retry begins at once, however long the first attempt took.
        configuration.draw = { 0 }
        configuration.clock = TestClock()
        configuration.now = { [wall] in wall.now }
        change(&configuration)
        return Engine(configuration)
    }

    private static let old = Answer(
        headers: ["Content-Length: 10", "ETag: \"a\"", "Cache-Control: max-age=1", "Age: 9"], body: "01234")
    private static let new = Answer(headers: ["Content-Length: 3", "ETag: \"b\""], body: "new")

    private static func rest(_ range: String, _ body: String = "56789", tag: String = "\"a\"") -> Answer {
        Answer(
            status: 206,
            headers: [
                "Content-Range: \(range)", "ETag: \(tag)", "Content-Length: \(body.count)", "Cache-Control: max-age=60",
            ],
            body: body)
    }

    private static let failing = Answer(status: 503, headers: ["Content-Length: 0"])

    /// Which request resumes the transfer.
    enum Successor: CaseIterable {
        /// The next attempt of the exchange.
        case attempt
        /// Another engine over the same store, after the first was closed: the received part is read from disk.
        case engine

        /// The values of a header in the requests before the request that resumes the transfer.
        func before(_ value: String?) -> [String?] { self == .attempt ? [nil] : [nil, value] }

        /// The reasons of the earlier attempts that the successor knows of.
        var reasons: [RetryReason.Code?] { self == .attempt ? [.interrupted] : [] }
    }

    /// Returns a server that breaks off the first response, and then sends these answers.
    private func server(
        _ first: Answer,
        _ answers: [Answer],
        for successor: Successor,
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) async throws -> ScriptedServer {
        guard successor == .engine else { return try ScriptedServer([first] + answers) }
        let server = try ScriptedServer([first, Self.failing] + answers)
        let engine = engine(change)
        #expect(try await engine.send(Self.twice(server)).status == .serviceUnavailable)
        await engine.close()
        return server
    }

    /// Returns a request with two attempts. A request for the whole after a failed resumption counts as none.
    private static func twice(_ server: ScriptedServer) -> Request {
        var request = Request(server.url)
        request.retry = RetryPolicy(attempts: 2)
        return request
    }

    // MARK: The rest

    @Test(arguments: Successor.allCases)
    func `is resumed as one response, which is stored`(successor: Successor) async throws {
        let server = try await server(Self.old, [Self.rest("bytes 5-9/10")], for: successor)
        let engine = engine()
        let response = try await engine.send(Request(server.url))
        #expect(response.status == .ok && response.text == "0123456789")
        #expect(response.headers[.contentLength] == "10" && response.headers[.contentRange] == nil)
        #expect(response.headers[.cacheControl] == "max-age=60" && response.headers[.age] == nil)
        // An exchange with one attempt reports no attempts.
        #expect(response.attempts.map(\.reason?.code) == successor.reasons + successor.reasons.map { _ in nil })
        #expect(successor == .engine || response.attempts.last?.outcome == .answered(.partialContent))
        #expect(server.values(of: .range) == successor.before("bytes=5-") + ["bytes=5-"])
        #expect(server.values(of: .ifRange) == successor.before("\"a\"") + ["\"a\""])
        #expect(server.values(of: .acceptEncoding).last == "identity")
        let count = server.count
        let again = try await engine.send(Request(server.url))
        #expect(again.source == .cache && again.text == "0123456789" && server.count == count)
        #expect(engine.activity.counts.inFlight == 0)
        await engine.close()
        #expect(try engine.cache?.totals().partials == 0)
    }

    @Test func `a broken transfer of a variant is resumed for the same variant, and never for another`() async throws {
        let vary = "Vary: Accept-Language"
        let german = Answer(headers: Self.old.headers + [vary], body: "01234")
        let english = Answer(
            headers: ["Content-Length: 3", "ETag: \"b\"", "Cache-Control: max-age=60", vary], body: "new")
        let server = try ScriptedServer([german, Self.failing, english, Self.rest("bytes 5-9/10")])
        func response(_ language: String, by engine: Engine) async throws -> Response {
            var request = Self.twice(server)
            request.headers[.acceptLanguage] = language
            return try await engine.send(request)
        }
        let first = engine { $0.identityPreset = .http }
        #expect(try await response("de", by: first).status == .serviceUnavailable)
        await first.close()
        let engine = engine { $0.identityPreset = .http }
        for source in [Response.Source.network, .cache] {
            for (language, text) in [("en", "new"), ("de", "0123456789")] {
                let response = try await response(language, by: engine)
                #expect(response.text == text && response.source == source)
            }
        }
        #expect(server.values(of: .range) == [nil, "bytes=5-", nil, "bytes=5-"])
        await engine.close()
        #expect(try engine.cache?.totals().partials == 0)
    }

    @Test(arguments: Successor.allCases, [(rest: true, offsets: ["5 of 10"]), (rest: false, offsets: [])])
    func `an observer receives the offset from which a transfer was resumed`(
        successor: Successor,
        answer: (rest: Bool, offsets: [String])
    ) async throws {
        let server = try await server(
            Self.old, [answer.rest ? Self.rest("bytes 5-9/10") : Self.new], for: successor)
        let engine = engine()
        let seen = Guarded<[String]>([])
        let observation = engine.activity.observe { event in
            guard case .transferResumed(let origin, let offset, let total) = event else { return }
            seen.withLock { $0.append("\(origin)/ \(offset) of \(total)") }
        }
        _ = try await engine.send(Request(server.url))
        withExtendedLifetime(observation) {}
        #expect(seen.withLock { $0 } == answer.offsets.map { "\(server.url) \($0)" })
        await engine.close()
    }

    /// Records the requests that it is given, as an interceptor that signs sees them.
    private struct RecordingInterceptor: Interceptor {
        let seen: Guarded<[String]>

        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            seen.withLock { $0.append("\(attempt) \(request.headers[.range] ?? "all")") }
        }
    }

    @Test func `interceptors see the request that resumes a broken transfer`() async throws {
        let server = try ScriptedServer([Self.old, Self.rest("bytes 5-9/10")])
        let seen = Guarded<[String]>([])
        let engine = engine { $0.interceptors = [RecordingInterceptor(seen: seen)] }
        #expect(try await engine.send(Request(server.url)).text == "0123456789")
        #expect(seen.withLock { $0 } == ["1 all", "2 bytes=5-"])
        await engine.close()
    }

    @Test func `a transfer is resumed wherever it breaks`() async throws {
        let chunked = Answer(
            status: 206,
            headers: ["Content-Range: bytes 7-9/10", "ETag: \"a\"", "Transfer-Encoding: chunked"],
            body: "1\r\n7\r\n0\r\n\r\n")
        var short = Self.rest("bytes 5-9/10")
        short.body = "56"
        let server = try ScriptedServer([Self.old, short, chunked, Self.rest("bytes 8-9/10", "89")])
        let engine = engine()
        var request = Request(server.url)
        request.retry = RetryPolicy(attempts: 4)
        #expect(try await engine.send(request).text == "0123456789")
        #expect(server.values(of: .range) == [nil, "bytes=5-", "bytes=7-", "bytes=8-"])
        await engine.close()
    }

    @Test(arguments: Successor.allCases)
    func `a transfer is resumed by a strong date`(successor: Successor) async throws {
        let dates = ["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "Date: Sun, 06 Nov 1994 08:59:37 GMT"]
        let first = Answer(headers: ["Content-Length: 10"] + dates, body: "01234")
        var rest = Self.rest("bytes 5-9/10")
        rest.headers.removeAll { $0.hasPrefix("ETag") }
        let server = try await server(first, [rest], for: successor)
        let engine = engine()
        #expect(try await engine.send(Request(server.url)).text == "0123456789")
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(server.values(of: .ifRange) == successor.before(date) + [date])
        await engine.close()
    }

    @Test func `a resumed transfer waits for a failing server, and goes on`() async throws {
        let server = try ScriptedServer([
            Self.old, Answer(status: 503, headers: ["Content-Length: 0"]), Self.rest("bytes 5-9/10"),
        ])
        let engine = engine()
        let response = try await engine.send(Request(server.url))
        #expect(response.text == "0123456789" && server.values(of: .range) == [nil, "bytes=5-", "bytes=5-"])
        #expect(response.attempts.map(\.reason?.code) == [.interrupted, .status, nil])
        await engine.close()
    }

    @Test func `a transfer that broke after its last byte is complete`() async throws {
        let rangeServer = RangeServer { $0.flows = [.broken($0.body.count)] }
        let engine = engine { $0.transport = rangeServer.transport }
        let response = try await engine.send(Request("http://h/"))
        #expect(response.status == .ok && response.body == rangeServer.body)
        #expect(rangeServer.ranges == [nil, "bytes=\(rangeServer.body.count)-"])
        #expect(try await engine.send(Request("http://h/")).source == .cache)
        await engine.close()
    }

    // MARK: No resumption by the server

    @Test(
        arguments: [
            rest("bytes 4-9/10", "456789"), rest("bytes 5-8/10", "5678"), rest("bytes 5-10/11", "567890"),
            rest("bytes 5-9/10", tag: "\"b\""), rest("bytes 5-9/10", tag: "W/\"a\""), rest("bytes */10"),
            Answer(status: 206, headers: ["Content-Length: 5", "ETag: \"a\""], body: "56789"),
            Answer(
                status: 206,
                headers: ["Content-Length: 5", "ETag: \"a\"", "Content-Type: multipart/byteranges; boundary=x"],
                body: "--x--"),
            Answer(
                status: 206,
                headers: ["Content-Range: bytes 5-9/10", "ETag: \"a\"", "Transfer-Encoding: chunked"],
                body: "6\r\n567890\r\n0\r\n\r\n"),
            Answer(status: 416, headers: ["Content-Range: bytes */3", "Content-Length: 0"]),
            Answer(status: 416, headers: ["Content-Length: 0"]), Answer(status: 412, headers: ["Content-Length: 0"]),
            Answer(status: 304, headers: ["ETag: \"a\""]), Answer(status: 400, headers: ["Content-Length: 0"]),
        ], Successor.allCases)
    func `a transfer whose rest is unavailable is requested again as a whole, once`(
        answer: Answer,
        successor: Successor
    ) async throws {
        let server = try await server(Self.old, [answer, Self.new], for: successor)
        let engine = engine()
        let request = Self.twice(server)
        let response = try await engine.send(request)
        #expect(response.text == "new" && response.headers[.eTag] == "\"b\"")
        #expect(server.values(of: .range) == successor.before("bytes=5-") + ["bytes=5-", nil])
        #expect(server.values(of: .ifRange) == successor.before("\"a\"") + ["\"a\"", nil])
        #expect(response.attempts.map(\.reason?.code) == successor.reasons + [.restarted, nil])
        #expect(try await engine.send(request).text == "new")
        await engine.close()
        #expect(try engine.cache?.totals().partials == 0)
    }

    @Test(
        arguments: [
            new, Answer(headers: ["Content-Length: 10", "ETag: \"a\""], body: "0123456789"),
            Answer(headers: ["Transfer-Encoding: chunked"], body: "3\r\nnew\r\n0\r\n\r\n"),
            Answer(status: 404, headers: ["Content-Length: 3"], body: "new"),
        ], Successor.allCases)
    func `a resumed transfer begins again where the server has another representation`(
        answer: Answer, successor: Successor
    ) async throws {
        let server = try await server(Self.old, [answer], for: successor)
        let engine = engine()
        let response = try await engine.send(Request(server.url))
        #expect(response.status.code == answer.status)
        #expect(server.values(of: .range) == successor.before("bytes=5-") + ["bytes=5-"])
        #expect(answer.body.contains(response.text))
        await engine.close()
        #expect(try engine.cache?.totals().partials == 0)
    }

    @Test(arguments: Successor.allCases)
    func `a resumed transfer returns the last error response of a server that keeps failing`(successor: Successor)
        async throws
    {
        let busy = Answer(status: 503, headers: ["Content-Length: 4"], body: "busy")
        let server = try await server(Self.old, [busy], for: successor)
        let engine = engine()
        let response = try await engine.send(Self.twice(server))
        #expect(response.status == .serviceUnavailable && response.text == "busy")
        #expect(server.values(of: .range).dropFirst().allSatisfy { $0 == "bytes=5-" })
        // The received part is there for the next exchange.
        #expect(try engine.cache?.totals().partials == 1)
        await engine.close()
    }

    // MARK: No resumption by the engine

    @Test(
        arguments: [
            ["Content-Length: 10"], ["Content-Length: 10", "ETag: W/\"a\""],
            ["Content-Length: 10", "ETag: \"a\"", "Accept-Ranges: none"],
            ["ETag: \"a\"", "Transfer-Encoding: chunked"],
            ["Content-Length: 10", "ETag: \"a\"", "Content-Encoding: rot13"],
            [
                "Content-Length: 10", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
                "Date: Sun, 06 Nov 1994 08:49:37 GMT",
            ],
        ], Successor.allCases)
    func `a transfer without a strong validator begins again`(
        headers: [String],
        successor: Successor
    ) async throws {
        let body = headers.contains("Transfer-Encoding: chunked") ? "9\r\n01234" : "01234"
        let change: (inout Engine.Configuration) -> Void = { $0.headers = [.acceptEncoding: "rot13"] }
        let server = try await server(Answer(headers: headers, body: body), [Self.new], for: successor, change)
        let engine = engine(change)
        #expect(try await engine.send(Request(server.url)).text == "new")
        #expect(server.values(of: .range) == successor.before(nil) + [nil])
        await engine.close()
        #expect(try engine.cache?.totals().partials == 0)
    }

    @Test func `a transfer begins again if it is no GET or has the caller's own preconditions`() async throws {
        let key = try #require(HTTPField.Name("Idempotency-Key"))
        let requests: [(HTTPRequest.Method, HTTPFields)] = [
            (.post, [key: "1"]), (.query, [:]), (.get, [.ifMatch: "\"a\""]), (.get, [.ifUnmodifiedSince: "x"]),
        ]
        for (method, headers) in requests {
            let server = try ScriptedServer([Self.old, Self.new])
            let engine = engine()
            #expect(try await engine.send(Request(server.url, method: method, headers: headers)).text == "new")
            #expect(server.values(of: .range) == [nil, nil])
            await engine.close()
        }
    }

    @Test func `a resumed transfer does not repeat the conditions about the stored entry`() async throws {
        let stored = Answer(headers: ["Content-Length: 3", "ETag: \"z\"", "Cache-Control: max-age=0"], body: "old")
        let server = try ScriptedServer([stored, Self.old, Self.rest("bytes 5-9/10")])
        let engine = engine()
        #expect(try await engine.send(Request(server.url)).text == "old")
        #expect(try await engine.send(Request(server.url)).text == "0123456789")
        #expect(server.values(of: .ifNoneMatch) == [nil, "\"z\"", nil])
        await engine.close()
    }

    @Test func `a transfer is not stored if its last part forbids that`() async throws {
        var rest = Self.rest("bytes 5-9/10")
        rest.headers[3] = "Cache-Control: no-store"
        let failing = Answer(status: 503, headers: ["Content-Length: 0"])
        let server = try ScriptedServer([Self.old, failing, failing, rest])
        let engine = engine()
        #expect(try await engine.send(Request(server.url)).status == .serviceUnavailable)
        #expect(try engine.cache?.totals().partials == 1)
        #expect(try await engine.send(Request(server.url)).text == "0123456789")
        await engine.close()
        #expect(try engine.cache?.totals().partials == 0 && engine.cache?.totals().entries == 0)
    }

    // MARK: Limits

    @Test func `a transfer is checked against the body limit as a whole`() async throws {
        let server = try ScriptedServer([Self.old, Self.rest("bytes 5-9/10")])
        let engine = engine { $0.bodyLimit = 9 }
        do {
            _ = try await engine.send(Request(server.url))
            Issue.record("it came")
        } catch {
            #expect(error.code == .bodyTooLarge)
        }
        #expect(try engine.cache?.totals().partials == 0 && server.count == 1)
        await engine.close()
    }
}
