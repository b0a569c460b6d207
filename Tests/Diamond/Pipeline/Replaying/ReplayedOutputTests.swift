import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Outputs of replayed calls, and where they are delivered.
@Suite("Outputs of replayed calls", .limit(minutes: 5)) struct ReplayedOutputTests {
    let fixture = ReplayFixture()

    @Test func `a response to a replayed request invalidates the entries that a direct one would`() async throws {
        let engine = fixture.engine()
        fixture.serve { request throws(TransportError) in
            guard request.method == .get else { throw TransportError(.cannotConnect, "refused") }
            return .stub(headers: [.cacheControl: "max-age=86400"], body: "old")
        }
        let list = Request("http://api.test/notes")
        _ = try await engine.send(list)
        #expect(try await engine.send(list).source == .cache)
        _ = try await fixture.queued(fixture.note(.onFailure), by: engine)
        fixture.serve { request in .stub(status: request.method == .get ? 200 : 201, body: "new") }
        fixture.clock.advance(by: .seconds(60))
        try await engine.replayer().replay()
        #expect(try await engine.send(list).text == "new")
    }

    struct Note: Codable, Hashable, Sendable {
        var id: Int
        var text: String
    }

    struct CreateNote: Endpoint {
        typealias Output = Note
        var text: String

        var request: Request {
            var request = Request("http://api.test/notes", method: .post, body: .json(["text": .string(text)]))
            request.replay = .onFailure
            return request
        }
    }

    @Test func `the output of a queued call is delivered to a later process`() async throws {
        fixture.serve(ReplayFixture.refused)
        let first = fixture.engine()
        let error = try await fixture.queued { () throws(ConnectionError) in
            _ = try await first.send(CreateNote(text: "a"))
        }
        await first.close()
        fixture.serve { _ in .stub(status: 201, body: #"{"id":7,"text":"a"}"#) }
        fixture.clock.advance(by: .seconds(60))
        let second = fixture.engine()
        let told = Guarded<[ReplayJob.ID: Note]>([:])
        second.onReplay(CreateNote.self) { id, result in
            if case .success(let note) = result { told.withLock { $0[id] = note } }
        }
        try await second.replayer().replay()
        let id = try #require(error.jobID)
        #expect(told.withLock { $0 } == [id: Note(id: 7, text: "a")])
    }

    enum Orders {
        struct CreateNote: Endpoint {
            typealias Output = Note
            var request: Request { Request("http://api.test/orders") }
        }
    }

    private struct Hidden: Endpoint {
        typealias Output = Note
        var request: Request { Request("http://api.test/hidden") }
    }

    struct Renamed: Endpoint {
        typealias Output = Note
        static var kind: String { "create-note" }
        var request: Request { Request("http://api.test/notes") }
    }

    @Test func `a call type is identified by its full name, or by the name that it declares`() {
        struct Local: Endpoint {
            typealias Output = Note
            var request: Request { Request("http://api.test/local") }
        }
        let suite = String(reflecting: Self.self)
        #expect(CreateNote.kind == "\(suite).CreateNote")
        #expect(Orders.CreateNote.kind == "\(suite).Orders.CreateNote")
        #expect(Hidden.kind == "\(suite).Hidden")
        #expect(Local.kind.hasSuffix("Local") && !Local.kind.contains("unknown"))
        #expect(DecodedRequest<Hidden.Output>.kind == "Diamond.DecodedRequest<\(suite).Note>")
        #expect(Renamed.kind == "create-note")
    }

    @Test func `a replaced output handler is released where no lock is held`() {
        let (calls, count) = (ReplayHandlers([:], decoder: JSONDecoder()), Guarded(0))
        for _ in 0..<2 {
            let adder = HandlerAdder(calls, count)
            calls.add(kind: "CreateNote") { [adder] _, _, _ in withExtendedLifetime(adder) {} }
        }
        #expect(count.withLock { $0 } == 1)
    }

    /// Adds handlers of other calls when it is deallocated.
    private final class HandlerAdder: Sendable {
        private let add: @Sendable () -> Void

        init(_ calls: ReplayHandlers, _ count: Guarded<Int>) {
            add = { [weak calls] in
                guard let calls else { return }
                calls.add(kind: "DeleteNote") { _, _, _ in }
                count.withLock { $0 += 1 }
            }
        }

        deinit { add() }
    }

    @Test func `a caller that waits for a job learns how it ended`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine()
        let error = try await fixture.queued(fixture.note(.onFailure), by: engine)
        let (queue, id) = (try engine.queue(), try #require(error.jobID))
        let end = Task { try await queue.end(of: id) }
        fixture.serve { _ in .stub(status: 204) }
        fixture.clock.advance(by: .seconds(60))
        try await engine.replayer().replay()
        let job = try await end.value
        #expect(job.state == .done && job.status == 204)
    }
}
