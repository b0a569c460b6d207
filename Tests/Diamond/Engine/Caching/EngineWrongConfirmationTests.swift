import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Responses that say nothing about the stored response: it stays, unless a later response supersedes it.
@Suite("RFC 9111 section 4.3.4, a 304 that confirms nothing", .limit(minutes: 5)) struct EngineWrongConfirmationTests {
    private static let url = "http://h/a"
    private static let fields: HTTPFields = [
        .eTag: "\"1\"", .cacheControl: "max-age=10, stale-if-error=600",
    ]

    private let temporary = TemporaryStore()
    private let clock = ManualClock()

    /// An engine with a stored response, and a server that then answers with these, one after another; the last again
    /// and again. `nil` stands for a server that cannot be reached.
    private func engine(_ answers: StubAnswer?...) async throws -> (engine: Engine, transport: StubTransport) {
        let left = Guarded([StubAnswer(status: 200, headers: Self.fields)] + answers)
        let transport = StubTransport { _ throws(TransportError) in
            let answer = left.withLock { left in left.count > 1 ? left.removeFirst() : left[0] }
            guard let answer else { throw TransportError(.cannotConnect, "refused") }
            return .stub(status: answer.status, headers: answer.headers, body: answer.body)
        }
        let engine = temporary.engine(transport, clock: clock)
        _ = try await engine.send(Request(Self.url))
        return (engine, transport)
    }

    struct StubAnswer: Sendable {
        let status: Int
        var headers: HTTPFields = [:]
        var body: String { status == 200 ? "body" : "" }
    }

    private static let other = StubAnswer(status: 304, headers: [.eTag: "\"2\""])

    @Test(arguments: [nil, StubAnswer(status: 503)])
    func `a stored response is served within stale-if-error if the request without its tag fails`(
        failure: StubAnswer?
    ) async throws {
        let (engine, transport) = try await engine(Self.other, failure)
        clock.advance(by: 20)
        for _ in 1...2 {
            let response = try await engine.send(Request(Self.url))
            #expect(response.source == .stale && response.text == "body" && response.headers[.eTag] == "\"1\"")
        }
        #expect(transport.requests.prefix(3).map { $0.headers[.ifNoneMatch] } == [nil, "\"1\"", nil])
        await engine.close()
        // Also on disk.
        let next = temporary.engine(transport, clock: clock)
        #expect(try await next.send(Request(Self.url)).source == .stale)
        await next.close()
    }

    @Test func `a stored response is streamed within stale-if-error if the request without its tag fails`()
        async throws
    {
        let (engine, _) = try await engine(Self.other, nil)
        clock.advance(by: 20)
        let stream = try await engine.stream(Request(Self.url))
        var body = Data()
        for try await piece in stream.bytes { body += piece }
        #expect(stream.source == .stale && body == Data("body".utf8))
        await engine.close()
    }

    @Test(arguments: [
        StubAnswer(status: 200, headers: [.cacheControl: "no-store"]), StubAnswer(status: 404),
    ])
    func `a stored response ends with the response to the request without its tag`(answer: StubAnswer) async throws {
        let (engine, _) = try await engine(Self.other, answer, nil)
        clock.advance(by: 20)
        #expect(try await engine.send(Request(Self.url)).status.code == answer.status)
        let stored = try? await engine.send(Request(Self.url, cache: .cacheOnly))
        #expect(stored?.headers[.eTag] == nil)
        await engine.close()
    }

    @Test(
        arguments: [
            (.get, [:], .reload, other), (.get, [:], .reload, StubAnswer(status: 304)),
            (.get, [:], .reload, StubAnswer(status: 304, headers: [.eTag: "\"1\"", .cacheControl: "max-age=900"])),
            (.get, [:], .revalidate, other), (.get, [.ifMatch: "\"2\""], .reload, StubAnswer(status: 412)),
            (.get, [.ifUnmodifiedSince: "Sun, 06 Nov 1994 08:49:37 GMT"], .revalidate, StubAnswer(status: 412)),
            (.head, [:], .reload, other), (.head, [:], .revalidate, other),
            (.head, [:], .reload, StubAnswer(status: 412, headers: [.eTag: "\"2\""])),
        ] as [(HTTPRequest.Method, HTTPFields, CachePolicy, StubAnswer)])
    func `a stored response is neither changed nor erased by what is not about it`(
        method: HTTPRequest.Method, headers: HTTPFields, policy: CachePolicy, answer: StubAnswer
    ) async throws {
        let (engine, _) = try await engine(answer)
        let request = Request(Self.url, method: method, headers: headers, cache: policy)
        #expect(try await engine.send(request).status.code == answer.status)
        clock.advance(by: 5)
        let stored = try await engine.send(Request(Self.url))
        #expect(stored.source == .cache && stored.text == "body" && stored.headers[.eTag] == "\"1\"")
        clock.advance(by: 10)
        #expect(try await engine.send(Request(Self.url, cache: .cacheOnly)).source == .stale)
        await engine.close()
    }

    @Test func `a HEAD with another tag makes the stored response stale, and does not erase it`() async throws {
        let (engine, _) = try await engine(StubAnswer(status: 200, headers: [.eTag: "\"2\""]), nil)
        _ = try await engine.send(Request(Self.url, method: .head, cache: .reload))
        let stored = try await engine.send(Request(Self.url, cache: .cacheOnly))
        #expect(stored.source == .stale && stored.text == "body")
        await engine.close()
    }
}
