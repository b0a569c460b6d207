import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The stored body of a stream or download", .limit(minutes: 5)) struct StoredBodyTests {
    typealias Answer = ScriptedServer.Answer

    /// The ways to request a body without collecting it.
    enum Way: CaseIterable {
        case stream, sharing, download, sink

        /// Whether an error response is returned, and not thrown.
        var isStream: Bool { self == .stream || self == .sharing }
    }

    /// The result of a request.
    private struct Outcome {
        var status: Int
        var source: Response.Source?
        var text: String
    }

    private let temporary = TemporaryStore()
    private let clock = ManualClock()

    private static let first = Answer(
        headers: ["Cache-Control: max-age=60", "ETag: \"a\"", "Content-Length: 5"], body: "first")
    private static let second = Answer(
        headers: ["Cache-Control: max-age=60", "ETag: \"b\"", "Content-Length: 6"], body: "second")
    private static let confirmation = Answer(status: 304, headers: ["Cache-Control: max-age=60", "ETag: \"a\""])
    private static let busy = Answer(status: 503, headers: ["Content-Length: 0"])

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.retry = .never
        configuration.now = { [clock] in clock.now }
        change(&configuration)
        return Engine(configuration)
    }

    private func ask(
        _ engine: Engine,
        _ request: Request,
        _ way: Way,
        limit: Int = .max
    ) async throws -> Outcome {
        switch way {
        case .stream, .sharing:
            let response = try await engine.stream(request, limit: limit, sharing: way == .sharing)
            var body = Data()
            for try await piece in response.bytes { body += piece }
            return Outcome(
                status: response.status.code, source: response.source, text: String(decoding: body, as: UTF8.self))
        case .download:
            let file = temporary.directory.appending(path: "download")
            let download = try await engine.download(request, to: file, limit: limit)
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(download.size == text.utf8.count)
            return Outcome(status: download.status.code, source: nil, text: text)
        case .sink:
            let bodyRecorder = BodyRecorder()
            let download = try await engine.download(request, to: bodyRecorder, limit: limit)
            #expect(download.size == bodyRecorder.body.count && bodyRecorder.calls == ["begin 200", "write", "finish"])
            return Outcome(status: download.status.code, source: bodyRecorder.head?.source, text: bodyRecorder.text)
        }
    }

    /// An engine that has sent a request once, and has its response in memory or on disk.
    private func engine(having request: Request, isInMemory: Bool = true) async throws -> Engine {
        let engine = engine()
        _ = try await engine.send(request)
        await engine.cache?.flush()
        if !isInMemory { engine.cache?.memoryCapacity = 0 }
        return engine
    }

    // MARK: Behavior of every request

    @Test(arguments: Way.allCases, [true, false])
    func `is delivered where it is fresh, without a request`(way: Way, isInMemory: Bool) async throws {
        let server = try ScriptedServer([Self.first, Self.second])
        let engine = try await engine(having: Request(server.url), isInMemory: isInMemory)
        let recorder = ActivityRecorder(engine.activity)
        let outcome = try await ask(engine, Request(server.url), way)
        #expect(outcome.text == "first" && outcome.status == 200 && outcome.source ?? .cache == .cache)
        #expect(server.count == 1 && recorder.lines == ["hit cache"])
        await engine.close()
    }

    @Test(arguments: Way.allCases, [true, false])
    func `is delivered and fresh again when the server answers 304`(way: Way, isInMemory: Bool)
        async throws
    {
        let server = try ScriptedServer([Self.first, Self.confirmation, Self.second])
        let engine = try await engine(having: Request(server.url), isInMemory: isInMemory)
        clock.advance(by: 61)
        let outcome = try await ask(engine, Request(server.url), way)
        #expect(outcome.text == "first" && outcome.source ?? .revalidated == .revalidated)
        #expect(server.values(of: .ifNoneMatch) == [nil, "\"a\""] && engine.lanes.running == 0)
        let again = try await engine.send(Request(server.url))
        #expect(again.source == .cache && again.text == "first" && server.count == 2)
        await engine.cache?.flush()
        #expect(try temporary.rows("entry WHERE stored_at = \(clock.wallTime)") == 1)
        await engine.close()
    }

    @Test(arguments: Way.allCases)
    func `stays in the store when the server sends another body, which is delivered`(way: Way)
        async throws
    {
        let server = try ScriptedServer([Self.first, Self.second])
        let engine = try await engine(having: Request(server.url))
        clock.advance(by: 61)
        let outcome = try await ask(engine, Request(server.url), way)
        #expect(outcome.text == "second" && outcome.source ?? .network == .network)
        #expect(try await engine.send(Request(server.url, cache: .cacheOnly)).text == "first")
        await engine.close()
    }

    /// The effect of a policy on a stored response, with a server that confirms it.
    struct Row: CustomTestStringConvertible {
        var policy: CachePolicy
        var isStale = false
        var source: Response.Source
        var asked: Int
        var isConditional = false

        var testDescription: String { "\(policy.mode), \(isStale ? "stale" : "fresh")" }
    }

    private static let rows = [
        Row(policy: .cacheElseNetwork, isStale: true, source: .stale, asked: 0),
        Row(policy: .cacheOnly, isStale: true, source: .stale, asked: 0),
        Row(policy: .cacheOnly, source: .cache, asked: 0),
        Row(policy: .staleWhileRevalidate, source: .cache, asked: 0),
        Row(policy: .staleWhileRevalidate, isStale: true, source: .stale, asked: 1, isConditional: true),
        Row(policy: .revalidate, source: .revalidated, asked: 1, isConditional: true),
        Row(policy: .networkElseCache, source: .revalidated, asked: 1, isConditional: true),
        Row(policy: .reload, source: .network, asked: 1),
        Row(policy: .noStore, source: .network, asked: 1),
    ]

    @Test(arguments: Way.allCases, rows)
    func `is used as the request's policy says`(way: Way, row: Row) async throws {
        let server = try ScriptedServer([Self.first, row.isConditional ? Self.confirmation : Self.second])
        let engine = try await engine(having: Request(server.url))
        if row.isStale { clock.advance(by: 61) }
        let outcome = try await ask(engine, Request(server.url, cache: row.policy), way)
        #expect(outcome.text == (row.source == .network ? "second" : "first"))
        #expect(outcome.source ?? row.source == row.source)
        // A revalidation may run after the response.
        await untilTrue { server.count == 1 + row.asked && engine.activity.counts.isIdle }
        #expect((server.values(of: .ifNoneMatch).last ?? nil) == (row.isConditional ? "\"a\"" : nil))
        await engine.close()
    }

    @Test(arguments: Way.allCases) func `a stream or download with cacheOnly fails with 504 when nothing is stored`(
        way: Way
    )
        async throws
    {
        let server = try ScriptedServer([Self.first])
        let engine = engine()
        let request = Request(server.url, cache: .cacheOnly)
        do {
            let outcome = try await ask(engine, request, way)
            #expect(way.isStream && outcome.status == 504 && outcome.source == .generated)
        } catch {
            let error = try #require(error as? ConnectionError)
            #expect(!way.isStream && error.code == .notStored && error.response?.status == .gatewayTimeout)
        }
        #expect(server.count == 0)
        await engine.close()
    }

    @Test(arguments: Way.allCases)
    func `is delivered when the server fails and the policy is networkElseCache`(way: Way)
        async throws
    {
        let server = try ScriptedServer([Self.first, Self.busy])
        let engine = try await engine(having: Request(server.url))
        let outcome = try await ask(engine, Request(server.url, cache: .networkElseCache), way)
        #expect(outcome.text == "first" && outcome.source ?? .cache == .cache && server.count == 2)
        await engine.close()
    }

    // MARK: Sinks and files

    @Test func `replaces a truncated response, unless a part of that response was delivered`()
        async throws
    {
        let broken = Answer(headers: ["Content-Length: 6"], body: "sec")
        let server = try ScriptedServer([Self.first, broken])
        let engine = try await engine(having: Request(server.url))
        let request = Request(server.url, cache: .networkElseCache)
        #expect(try await ask(engine, request, .download).text == "first")
        let response = try await engine.stream(request)
        var seen = Data()
        do {
            for try await piece in response.bytes { seen += piece }
            Issue.record("it came whole")
        } catch {
            #expect(error.code == .connectionLost)
        }
        #expect(seen == Data("sec".utf8) && response.source == .network)
        await engine.close()
    }

    @Test(arguments: [true, false])
    func `is not delivered when its destination has no space left`(isFull: Bool) async throws {
        let server = try ScriptedServer([Self.first, Self.second])
        let engine = try await engine(having: Request(server.url))
        let writes = Guarded(0)
        // There is space again for the next write.
        let full: DownloadFile.Write = { descriptor, bytes in
            writes.withLock { $0 += 1 }
            guard writes.withLock({ $0 }) == 1 else {
                return Foundation.write(descriptor, bytes.baseAddress, bytes.count)
            }
            errno = ENOSPC
            return -1
        }
        let url = temporary.directory.appending(path: "download")
        let file = isFull ? DownloadFile(url, limit: .max, write: full) : DownloadFile(url, limit: 5)
        let request = Request(server.url, cache: .networkElseCache)
        await #expect { _ = try await engine.pipeline.download(request, into: file) } throws: {
            ($0 as? ConnectionError)?.code == (isFull ? .cannotWrite : .bodyTooLarge)
        }
        #expect(server.count == 2 && !FileManager.default.fileExists(atPath: url.path))
        await engine.close()
    }

    @Test(arguments: Way.allCases) func `is no larger than the caller allows`(way: Way) async throws {
        let server = try ScriptedServer([Self.first])
        let engine = try await engine(having: Request(server.url))
        #expect(try await ask(engine, Request(server.url), way, limit: 5).text == "first")
        await #expect { _ = try await ask(engine, Request(server.url), way, limit: 4) } throws: {
            ($0 as? ConnectionError)?.code == .bodyTooLarge
        }
        #expect(server.count == 1)
        await engine.close()
    }

    @Test func `stays in the store when the connection rejects the response to its revalidation`()
        async throws
    {
        final class SelectiveConnection: Connection, @unchecked Sendable {
            struct Refused: Error {}

            // It does not see the body of the download itself.
            override func validate(_ response: Response) throws { if response.text == "second" { throw Refused() } }
        }
        let server = try ScriptedServer([Self.first, Self.second])
        let engine = try await engine(having: Request(server.url))
        clock.advance(by: 61)
        let file = temporary.directory.appending(path: "download")
        let connection = SelectiveConnection(Request(server.url, cache: .staleWhileRevalidate), to: file)
        engine.start(connection)
        #expect(try await connection.download.size == 5)
        await engine.waitForRefreshes()
        #expect(server.count == 2)
        #expect(try await engine.send(Request(server.url, cache: .cacheOnly)).text == "first")
        await engine.close()
    }

    @Test
    func `stays in the store when the response to its revalidation exceeds the engine's body limit`()
        async throws
    {
        let server = try ScriptedServer([Self.first, Self.second])
        let engine = engine { $0.bodyLimit = 5 }
        var request = Request(server.url, cache: .staleWhileRevalidate)
        // The limit of the file, which is larger than the limit in memory.
        request.bodyLimit = 100
        _ = try await engine.send(request)
        clock.advance(by: 61)
        #expect(try await ask(engine, request, .download).text == "first")
        await engine.waitForRefreshes()
        #expect(server.count == 2)
        #expect(try await engine.send(Request(server.url, cache: .cacheOnly)).text == "first")
        await engine.close()
    }

    @Test func `a stored error or redirect is delivered as well`() async throws {
        let moved = Answer(status: 301, headers: ["Location: /missing", "Content-Length: 5"], body: "there")
        let missing = Answer(status: 404, headers: ["Cache-Control: max-age=60", "Content-Length: 2"], body: "no")
        let server = try ScriptedServer([moved, missing, Self.first])
        let engine = engine()
        var request = Request(server.url, cache: .automatic(maxAge: .seconds(60)))
        for _ in 0..<2 {
            let outcome = try await ask(engine, request, .stream)
            #expect(outcome.status == 404 && outcome.text == "no" && server.count == 2)
        }
        request.cache = .cacheOnly
        await #expect { _ = try await ask(engine, request, .download) } throws: {
            ($0 as? ConnectionError)?.response?.text == "no"
        }
        await engine.close()
    }

    @Test func `a stored body of a successful response is not transformed by interceptors`() async throws {
        struct RepairingInterceptor: Interceptor {
            func transform(_ response: inout Response) async throws { response.body = Data("mended".utf8) }
        }
        let server = try ScriptedServer([Self.first])
        let engine = engine { $0.interceptors = [RepairingInterceptor()] }
        #expect(try await engine.send(Request(server.url)).text == "mended")
        #expect(try await ask(engine, Request(server.url), .stream).text == "first")
        #expect(try await ask(engine, Request(server.url, method: .head), .stream).text == "")
        await engine.close()
    }

    @Test func `events are requested from the server even when an event stream is stored`() async throws {
        let events = Answer(
            headers: ["Content-Type: text/event-stream", "Cache-Control: max-age=60", "Content-Length: 9"],
            body: "data: a\n\n")
        let server = try ScriptedServer([events])
        // Not `no-store`, which is added where the request does not say otherwise.
        let request = Request(server.url, headers: [.accept: "text/event-stream", .cacheControl: "no-transform"])
        let engine = try await engine(having: request)
        for try await event in engine.events(request) {
            #expect(event.data == "a")
            break
        }
        #expect(server.count == 2)
        await engine.close()
    }
}
