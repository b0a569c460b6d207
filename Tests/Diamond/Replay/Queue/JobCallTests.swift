import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The typed calls that jobs store", .limit(minutes: 5)) struct JobCallTests {
    let fixture = ReplayFixture()

    private struct AddNote: Endpoint {
        typealias Output = Nothing
        static let kind = "AddNote"
        var text: String
        var id = Int64.max
        var isStored = true

        var request: Request {
            get throws {
                var request = Request("http://api.test/notes", method: .post, body: .json(["text": JSONValue(text)]))
                request.replay = isStored ? try .durable.storing(self) : .durable
                return request
            }
        }
    }

    /// The call of a later version of the app.
    private struct AddLongNote: Endpoint {
        typealias Output = Nothing
        static let kind = "AddNote"
        var text: String
        var title: String
        var request: Request { Request("http://api.test/notes", method: .post) }
    }

    private struct Login: Endpoint {
        typealias Output = Nothing
        var password = "s3cret"

        var request: Request {
            get throws {
                var request = Request("http://api.test/login", method: .post)
                request.replay = try .durable.storing(self)
                return request
            }
        }
    }

    /// Submits a call while the server is away, and returns its job.
    private func job(of call: some Endpoint, by engine: Engine) async throws -> ReplayJob {
        fixture.serve(ReplayFixture.refused)
        guard case .queued(let job) = try await engine.submit(call) else { throw CocoaError(.featureUnsupported) }
        return job
    }

    @Test func `a job gives its call back to a later engine, to the changes, and after an export`() async throws {
        let call = AddNote(text: "milk \u{1}\"\u{1F600}")
        let engine = fixture.engine()
        var changes = try engine.queue().changes.makeAsyncIterator()
        let job = try await job(of: call, by: engine)
        #expect(try job.call(as: AddNote.self) == call)
        #expect(try await changes.next()?.call(as: AddNote.self) == call)
        await engine.close()
        let later = try fixture.engine().queue()
        #expect(try later.jobs().map { try $0.call(as: AddNote.self) } == [call])

        let exported = try #require(try later.request(of: job.id)).json()
        let other = try ReplayQueue(TemporaryStore().store)
        try await other.enqueue([ReplayCopy(Request(json: exported))])
        #expect(try other.jobs().map { try $0.call(as: AddNote.self) } == [call])
    }

    @Test func `a job gives no call of another type, and none that was not stored`() async throws {
        let engine = fixture.engine()
        #expect(try await job(of: AddNote(text: "a"), by: engine).call(as: Login.self) == nil)
        let other = try await job(of: AddNote(text: "a", isStored: false), by: engine)
        #expect(try other.kind == AddNote.kind && other.call(as: AddNote.self) == nil)
    }

    @Test func `a call that is no longer a value of its type is an error with the place`() async throws {
        let job = try await job(of: AddNote(text: "a"), by: fixture.engine())
        let error = #expect(throws: ReplayError.self) { try job.call(as: AddLongNote.self) }
        #expect(error?.code == .undecodable && error?.message.contains("title: is missing") == true)
    }

    @Test func `a call with a secret is not queued, and one that is too long is not stored`() async throws {
        let engine = fixture.engine()
        for call in [Login(), AddNote(text: String(repeating: "a", count: 65_536))] as [any Endpoint] {
            let error = await #expect(throws: ConnectionError.self) { try await job(of: call, by: engine) }
            #expect(error?.code == .badRequest && error?.message.contains("s3cret") == false, "\(error as Any)")
        }
        #expect(try engine.queue().jobs().isEmpty && fixture.transport.requests.isEmpty)
    }

    @Test func `a stored call is no part of the request's key, nor of the bytes that are sent`() async throws {
        let engine = fixture.engine()
        let (stored, plain) = (AddNote(text: "a"), AddNote(text: "a", isStored: false))
        #expect(try await engine.key(of: stored.request) == engine.key(of: plain.request))
        for call in [stored, plain] { _ = try await engine.submit(call) }
        let sent = fixture.transport.requests
        #expect(sent.count == 2 && sent[0].headers.count == sent[1].headers.count)
        #expect(sent[0].url == sent[1].url)
    }

    @Test func `a merged job has the call of the newer request`() async throws {
        let queue = try fixture.engine().queue()
        try await queue.hold(.queue)
        for text in ["a", "b"] {
            var request = fixture.note(ReplayPolicy(.durable, unique: "note", uniqueness: .replace), method: .put)
            request.replay = try request.replay.storing(AddNote(text: text))
            try await queue.enqueue(request)
        }
        #expect(try queue.jobs().map { try $0.call(as: AddNote.self)?.text } == ["b"])
    }
}
