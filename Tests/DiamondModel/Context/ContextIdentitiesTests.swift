import Diamond
import DiamondTestSupport
import Testing

@testable import DiamondModel

/// Objects of a user who has signed out.
@ModelActor
@Suite("The identities of a context", .limit(minutes: 5)) struct ContextIdentitiesTests {
    private let api = QueuedAPI()

    /// A call of a class at an origin for an identity, and whether the context may have its objects.
    private struct Step: Sendable {
        let type: Model.Type
        let origin: String
        let identity: String?
        let isAdmitted: Bool

        init(_ type: Model.Type, _ origin: String, _ identity: String?, _ isAdmitted: Bool) {
            self.type = type
            self.origin = origin
            self.identity = identity
            self.isAdmitted = isAdmitted
        }
    }

    @Test func `the first identity of an origin counts`() {
        var state = ContextIdentities.Record()
        let steps = [
            Step(Note.self, "https://a", nil, true), Step(Note.self, "https://a", "ann", true),
            Step(Note.self, "https://a", "bob", false), Step(Note.self, "https://a", nil, false),
            // A class of the same API without an identity, which may be a public one.
            Step(City.self, "https://a", nil, true), Step(City.self, "https://a", "bob", false),
            Step(City.self, "https://a", "ann", true), Step(City.self, "https://a", nil, false),
            // An account at another server.
            Step(City.self, "https://b", "a17", true), Step(City.self, "https://b", "ann", false),
            Step(Note.self, "https://a", "ann", true),
        ]
        for (index, step) in steps.enumerated() {
            let subject = ContextIdentities.Subject(type: ObjectIdentifier(step.type), origin: step.origin)
            #expect(state.admits(step.identity, for: subject) == step.isAdmitted, "step \(index)")
        }
    }

    private nonisolated static let calls: [String] = [
        "optimistic", "wait", "queued", "queuedInBackground", "destroy", "destroy queued", "create", "collect",
        "queuedModels", "queuedJobs",
    ]

    private func call(_ name: String, _ note: Note, _ program: QueuedAPI.Program) async throws {
        switch name {
        case "optimistic": try await note.save { $0.stars = 5 }
        case "wait": try await note.save(.wait) { $0.stars = 5 }
        case "queued": try await note.save(.queued) { $0.stars = 5 }
        case "queuedInBackground": try await note.save(.queuedInBackground) { $0.stars = 5 }
        case "destroy": try await note.destroy()
        case "destroy queued": try await note.destroy(.queued)
        case "create":
            let other = Note()
            other.text = "draft"
            try await ModelCollection<Note>(context: program.context).create(other, .queued)
        case "collect": try await program.context.collectSaves(of: Note.self)
        case "queuedModels": _ = try await program.context.queuedModels(Note.self)
        default: _ = try await note.queuedJobs()
        }
    }

    @Test(arguments: calls, ["bob", nil])
    func `a call for another user than the objects' throws, and sends and queues nothing`(
        _ name: String, _ user: String?
    ) async throws {
        let program = try api.start(as: "ann")
        let note = Note()
        try program.context.register(note)
        try await note.save { $0.text = "milk" }
        let list = try ModelCollection([note])
        program.session.signIn(user)
        let sent = api.calls.count
        let error = await #expect(throws: ModelError.self) { try await call(name, note, program) }
        #expect(error?.code == .otherIdentity)
        #expect(api.calls.count == sent && note.stars == 0 && !note.isDirty && list.count == 1)
        #expect(try program.queue.jobs().isEmpty)
        program.session.signIn("ann")
        try await call(name, note, program)
    }

    @Test(arguments: [false, true])
    func `objects that were only loaded belong to the user, too`(_ isList: Bool) async throws {
        let program = try api.start(as: "ann")
        let first = try api.start(as: "ann")
        let made = Note()
        try first.context.register(made)
        try await made.save { $0.text = "milk" }
        let note: Note
        let list = ModelCollection<Note>(context: program.context)
        if isList {
            api.answerOnce(StubAPI.Answer(200, [["id": 7, "text": "milk"]]))
            list.source = PageSource(program.engine, Request("notes"))
            try await list.load()
            note = list[0]
        } else {
            note = try program.context.model(Note.self, from: ["id": 7])
            api.answerOnce(StubAPI.Answer(200, ["id": 7, "text": "milk"]))
            try await note.load()
        }
        program.session.signIn("bob")
        let error = await #expect(throws: ModelError.self) { try await note.save(.queued) { $0.text = "bread" } }
        #expect(error?.code == .otherIdentity && note.text == "milk")
    }

    @Test func `a context that was used before a login belongs to the first user who signs in`() async throws {
        let program = try api.start(as: "ann")
        program.session.signIn(nil)
        let note = Note()
        try program.context.register(note)
        try await note.save { $0.text = "milk" }
        program.session.signIn("ann")
        try await note.save(.queued) { $0.stars = 1 }
        program.session.signIn(nil)
        await #expect(throws: ModelError.self) { try await note.save(.queued) { $0.stars = 2 } }
    }
}
