import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Server-sent events", .limit(minutes: 5)) struct ServerSentEventsTests {
    typealias Answer = ScriptedServer.Answer

    private let clock = TestClock()

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.draw = { 0 }
        configuration.clock = clock
        change(&configuration)
        return Engine(configuration)
    }

    /// - Parameter isBroken: whether the transfer ends early.
    private static func events(_ text: String, isBroken: Bool = false, isHeld: Bool = false) -> Answer {
        let chunk = "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
        return Answer(
            headers: ["Content-Type: text/event-stream; charset=utf-8", "Transfer-Encoding: chunked"],
            body: chunk + (isBroken || isHeld ? "" : "0\r\n\r\n"), isHeld: isHeld)
    }

    private static let over = Answer(status: 204)
    private static let busy = Answer(status: 503, headers: ["Content-Length: 0"])

    /// Advances the clock whenever a task sleeps by it.
    private func collect(_ events: some AsyncSequence<ServerSentEvent, ConnectionError>) async throws -> (
        data: [String], slept: [Duration]
    ) {
        let slept = Guarded<[Duration]>([])
        let mover = Task { [clock] in
            while !Task.isCancelled {
                if let delay = clock.sleeping.first {
                    slept.withLock { $0.append(delay) }
                    clock.advance(by: delay)
                }
                await Task.yield()
            }
        }
        defer { mover.cancel() }
        var data: [String] = []
        for try await event in events { data.append(event.data) }
        return (data, slept.withLock { $0 })
    }

    @Test(arguments: TransportKind.allCases)
    func `events arrive over successive connections, each of which resumes after the last event`(kind: TransportKind)
        async throws
    {
        let server = try ScriptedServer([
            Self.events("id: 1\ndata: a\n\n"), Self.events("id: 2\ndata: b\n\ndata: half", isBroken: true),
            Self.events("retry: 100\ndata: c\n\n"), Self.over,
        ])
        let engine = engine { $0.transport = kind.make() }
        let (data, slept) = try await collect(engine.events(Request(server.url)))
        #expect(data == ["a", "b", "c"])
        #expect(slept == [.seconds(3), .seconds(3), .milliseconds(100)])
        #expect(server.values(of: try #require(HTTPField.Name("Last-Event-ID"))) == [nil, "1", "2", "2"])
        #expect(server.values(of: .accept) == Array(repeating: "text/event-stream", count: 4))
        #expect(server.values(of: .cacheControl) == Array(repeating: "no-store", count: 4))
        // The unread rest of the final response is discarded without its reader.
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
        await engine.close()
    }

    @Test func `events arrive byte by byte`() async throws {
        let text = "\u{FEFF}event: Gruß\r\nid: 1\r\ndata: Zürich\r\ndata: 🏔\r\n\r\ndata: b\r\n\r\n"
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for byte in text.utf8 { connection.write(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
            connection.write("0\r\n\r\n")
        }
        let engine = engine()
        var request = Request(server.base)
        request.retry = .never
        var events: [ServerSentEvent] = []
        for try await event in engine.events(request) { events.append(event) }
        #expect(
            events == [
                ServerSentEvent(type: "Gruß", data: "Zürich\n🏔", lastEventID: "1"),
                ServerSentEvent(data: "b", lastEventID: "1"),
            ])
        await engine.close()
    }

    @Test(arguments: TransportKind.allCases)
    func `an event sequence returns its permit when its loop ends`(kind: TransportKind) async throws {
        let isLeft = Gate()
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\n")
            _ = connection.readRest()
            isLeft.open()
        }
        let engine = engine { $0.transport = kind.make() }
        for try await event in engine.events(Request(server.base)) {
            #expect(event.data == "a" && engine.lanes.running == 1)
            break
        }
        await isLeft.wait()
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
        await engine.close()
    }

    @Test func `an event sequence holds no permit between two connections, and ends when its task is canceled`()
        async throws
    {
        let server = try ScriptedServer([Self.events("data: a\n\n")])
        let engine = engine()
        let reader = Task { try await collected(engine.events(Request(server.url))) }
        await untilTrue { [clock] in clock.sleeping == [.seconds(3)] }
        #expect(engine.lanes.running == 0 && engine.activity.counts.isIdle)
        reader.cancel()
        await #expect { try await reader.value } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        #expect(server.count == 1)
        await engine.close()
    }

    @Test func `an event sequence ends when its engine is closed between two connections, however long the delay`()
        async throws
    {
        let busy = Answer(status: 503, headers: ["Retry-After: 3600", "Content-Length: 0"])
        let server = try ScriptedServer([Self.events("data: a\n\n"), busy])
        let engine = engine()
        let reader = Task { try await collected(engine.events(Request(server.url))) }
        await untilTrue { [clock] in clock.sleeping == [.seconds(3)] }
        clock.advance(by: .seconds(3))
        await untilTrue { [clock] in clock.sleeping == [.seconds(3600)] }
        await engine.close()
        await #expect { try await reader.value } throws: { ($0 as? ConnectionError)?.code == .cancelled }
        #expect(clock.sleeping.isEmpty && server.count == 2)
    }

    private func collected(_ events: some AsyncSequence<ServerSentEvent, ConnectionError>) async throws {
        for try await _ in events {}
    }

    @Test func `an event sequence waits longer after each failure of the server`() async throws {
        let server = try ScriptedServer([Self.events("data: a\n\n", isBroken: true), Self.busy, Self.busy, Self.over])
        let engine = engine { $0.draw = { 0.5 } }
        let (data, slept) = try await collect(engine.events(Request(server.url)))
        #expect(data == ["a"] && server.count == 4)
        #expect(slept == [4.5, 6, 9].map { .seconds($0) })
        await engine.close()
    }

    @Test(arguments: [
        (Answer(status: 404, headers: ["Content-Length: 2"], body: "no"), ConnectionError.Code.badStatus),
        (Answer(status: 206, headers: ["Content-Type: text/event-stream", "Content-Length: 0"]), .badStatus),
        (Answer(headers: ["Content-Type: application/json", "Content-Length: 2"], body: "{}"), .badContentType),
        (Answer(headers: ["Content-Type: text/event-streams", "Content-Length: 0"]), .badContentType),
        (Answer(headers: ["Content-Length: 0"]), .badContentType),
    ]) func `a response that is no event stream is an error with that response`(
        answer: Answer, code: ConnectionError.Code
    ) async throws {
        for answers in [[answer], [Self.events("data: a\n\n"), answer]] {
            let server = try ScriptedServer(answers)
            let engine = engine()
            await #expect { _ = try await collect(engine.events(Request(server.url))) } throws: { error in
                let error = error as? ConnectionError
                return error?.code == code && error?.response?.status.code == answer.status
            }
            #expect(server.count == answers.count)
            await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
            await engine.close()
        }
    }

    @Test func `an event sequence connects once for a request that must not be sent twice`() async throws {
        let server = try ScriptedServer([Self.events("data: a\n\n"), Self.events("data: b\n\n")])
        let engine = engine()
        let (data, _) = try await collect(engine.events(Request(server.url, method: .post)))
        #expect(data == ["a"] && server.count == 1)
        await engine.close()
    }

    @Test func `an event sequence whose request must not be sent twice fails when its stream breaks`() async throws {
        let server = try ScriptedServer([Self.events("data: a\n\n", isBroken: true)])
        let engine = engine()
        await #expect { _ = try await collect(engine.events(Request(server.url, method: .post))) } throws: {
            ($0 as? ConnectionError)?.code == .connectionLost
        }
        await engine.close()
    }

    @Test func `an event sequence fails when its first connection fails`() async throws {
        let engine = engine()
        var request = Request(try RawServer.refusedURL())
        request.retry = RetryPolicy(attempts: 2, baseDelay: .zero)
        await #expect { _ = try await collect(engine.events(request)) } throws: { error in
            let error = error as? ConnectionError
            return error?.code == .cannotConnect && error?.attempts.isEmpty == false
        }
        await engine.close()
    }

    @Test func `an event sequence resumes after the event ID that the caller gives`() async throws {
        let server = try ScriptedServer([Self.events("data: a\n\n"), Self.over])
        let engine = engine()
        for try await event in engine.events(Request(server.url), after: "Zürich 7") {
            #expect(event.lastEventID == "Zürich 7")
            break
        }
        #expect(server.values(of: try #require(HTTPField.Name("Last-Event-ID"))) == ["Zürich 7"])
        await engine.close()
    }

    @Test func `an event is no larger than the caller allows`() async throws {
        let long = String(repeating: "b", count: 100)
        let server = try ScriptedServer([Self.events("data: a\n\ndata: \(long)\n\n")])
        let engine = engine()
        var iterator = engine.events(Request(server.url), eventLimit: 50).makeAsyncIterator()
        #expect(try await iterator.next(isolation: #isolation)?.data == "a")
        do {
            _ = try await iterator.next(isolation: #isolation)
            Issue.record("it came")
        } catch {
            #expect(error.code == .bodyTooLarge && error.message.contains("50 bytes"))
        }
        #expect(try await iterator.next(isolation: #isolation) == nil)
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
        await engine.close()
    }

    @Test func `events are decoded as the caller's type`() async throws {
        struct Price: Decodable, Equatable { let cents: Int }
        let server = try ScriptedServer([
            Self.events("data: {\"cents\":\ndata: 7}\n\nevent: x\ndata: {\"cents\": \"hush\"}\n\n")
        ])
        let engine = engine()
        var prices = engine.events(Request(server.url)).decoded(as: Price.self).makeAsyncIterator()
        #expect(try await prices.next() == Price(cents: 7))
        await #expect { _ = try await prices.next() } throws: { error in
            let error = error as? ConnectionError
            return error?.code == .undecodable && error?.message.contains("'x'") == true
                && error?.message.contains("hush") == false
        }
        await engine.close()
    }
}
