#if Tools
import Foundation
import HTTPTypes
import Hummingbird

/// `/notes`, a write that honors `Idempotency-Key`, with answers to notes below their URLs, and `/effects`, which counts
/// what it did.
struct NoteRoutes: Sendable {
    private let store = NoteStore()

    func add(to router: Router<SampleContext>) {
        router.post("notes", use: create)
        router.get("notes", use: list)
        router.get("notes/{id}", use: show)
        router.patch("notes/{id}", use: change)
        router.post("notes/{id}/notes", use: create)
        router.patch("notes/{id}/notes/{answer}", use: changeAnswer)
        router.get("effects", use: effects)
        router.delete("effects", use: reset)
    }

    @Sendable private func create(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let body = try await context.body(of: request)
        let draft = try JSON.decode(NoteDraft.self, from: body)
        if context.parameters.get("id") != nil {
            let parent = try await store.note(context.number("id", in: 1...Int.max)).id
            guard draft.parent == parent else { throw Problem.invalid("parent", "must be \(parent), as in the URL") }
        }
        guard let key = request.headers[.idempotencyKey] else {
            return try response(await store.create(draft, key: nil))
        }
        if let note = try await store.claim(key, for: body) {
            return try response(note, isReplayed: true)
        }
        return try response(await perform(draft, under: key, context.pause))
    }

    /// The effect comes first and the wait after it, with the key still running: as when a slow answer gets lost.
    private func perform(_ draft: NoteDraft, under key: String, _ pause: Pause) async throws -> Note {
        let note = await store.create(draft, key: key)
        try await pause.wait()
        await store.finish(key, with: note)
        return note
    }

    private func response(_ note: Note, isReplayed: Bool = false) throws -> Response {
        var fields: HTTPFields = [.location: "/notes/\(note.id)"]
        if isReplayed { fields[.idempotencyReplayed] = "true" }
        return try Response(status: .created, headers: fields, json: note)
    }

    @Sendable private func list(_ request: Request, _ context: SampleContext) async throws -> Response {
        var arguments = context.arguments
        let city = try arguments.number("city", in: City.ids)
        try arguments.finish()
        let body = try JSON.encode(await store.notes(on: city))
        let tag = EntityTag(of: body)
        let fields: HTTPFields = [.cacheControl: "no-cache", .eTag: tag.text]
        guard !Preconditions(request.headers).isUnchanged(tag, .distantFuture) else {
            return Response(status: .notModified, headers: fields)
        }
        return Response(status: .ok, headers: fields, json: body)
    }

    @Sendable private func show(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        return try Response(json: await store.note(context.number("id", in: 1...Int.max)))
    }

    @Sendable private func change(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let draft = try JSON.decode(NoteDraft.self, from: await context.body(of: request))
        return try Response(json: await store.change(context.number("id", in: 1...Int.max), draft))
    }

    @Sendable private func changeAnswer(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        let id = try context.number("answer", in: 1...Int.max)
        try await store.check(id, answers: context.number("id", in: 1...Int.max))
        let draft = try JSON.decode(NoteDraft.self, from: await context.body(of: request))
        return try Response(json: await store.change(id, draft))
    }

    @Sendable private func effects(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        return try Response(headers: .uncacheable, json: await store.effects)
    }

    @Sendable private func reset(_ request: Request, _ context: SampleContext) async throws -> Response {
        try context.arguments.finish()
        await store.reset()
        return Response(status: .noContent)
    }
}
#endif
