import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

/// Responses in another order than their calls, and changes by the user before they arrive.
@ModelActor
@Suite("Late answers", .limit(minutes: 5)) struct LateAnswerTests {
    /// An API that answers each call when the test says so.
    private final class Held: Sendable {
        private let gates = Guarded<[String: Gate]>([:])
        private let answers: Guarded<[String: StubAPI.Answer]>

        init(_ answers: [String: StubAPI.Answer]) { self.answers = Guarded(answers) }

        func gate(_ name: String) -> Gate {
            gates.withLock { gates in
                let gate = gates[name] ?? Gate()
                gates[name] = gate
                return gate
            }
        }

        func answer(_ call: StubAPI.Call) async -> StubAPI.Answer {
            let name = "\(call.method) \(call.path)"
            await gate(name).wait()
            return answers.withLock { $0[name] } ?? StubAPI.Answer(404)
        }
    }

    private let context: ModelContext
    private let api: StubAPI
    private let held: Held

    init() {
        let held = Held([
            "GET notes/7": StubAPI.Answer(200, ["id": 7, "text": "theirs", "stars": 3]),
            "GET notes": StubAPI.Answer(200, [["id": 7, "text": "list"]]),
            "PATCH notes/7": StubAPI.Answer(204),
            "POST notes": StubAPI.Answer(201, ["id": 9, "text": "new", "stars": 0]),
            "DELETE notes/7": StubAPI.Answer(500), "DELETE notes/8": StubAPI.Answer(500),
        ])
        self.held = held
        api = StubAPI { await held.answer($0) }
        context = ModelContext(engine: api.engine)
    }

    private func note() throws -> Note { try context.model(from: ["id": 7, "text": "milk", "stars": 1]) }

    private func begin(_ count: Int = 1, _ body: @escaping @ModelActor () async throws -> Void) async -> Task<
        Void, any Error
    > {
        let task = Task { try await body() }
        await untilTrue { api.calls.count >= count }
        return task
    }

    @Test func `a load applies all values except those sent by a later save`() async throws {
        let note = try note()
        let load = await begin { try await note.load() }
        held.gate("PATCH notes/7").open()
        try await note.save { $0.text = "bread" }
        held.gate("GET notes/7").open()
        try await load.value
        #expect(note.text == "bread" && note.stars == 3 && !note.isDirty)
        #expect(note.json["text"] == "bread")
    }

    @Test func `a waiting change is applied, also after a load has set another value`() async throws {
        let note = try note()
        let save = await begin { try await note.save(.wait) { $0.text = "bread" } }
        held.gate("GET notes/7").open()
        try await note.load()
        #expect(note.text == "theirs")
        held.gate("PATCH notes/7").open()
        try await save.value
        #expect(note.text == "bread" && !note.isDirty)
    }

    @Test func `a change that is rolled back is replaced by a value that was loaded meanwhile`() async throws {
        let answers = Held(["GET notes/7": StubAPI.Answer(200, ["id": 7, "text": "theirs", "stars": 3])])
        let api = StubAPI { call in
            call.method == "PATCH" ? await answers.answer(call) : StubAPI.Answer(200, ["id": 7, "text": "theirs"])
        }
        let context = ModelContext(engine: api.engine)
        let note: Note = try context.model(from: ["id": 7, "text": "milk", "stars": 1])
        let save = Task { try await note.save { $0.text = "bread" } }
        await untilTrue { api.calls.count == 1 }
        try await note.load()
        #expect(note.text == "bread")
        answers.gate("PATCH notes/7").open()
        await #expect(throws: ConnectionError.self) { try await save.value }
        #expect(note.text == "theirs" && !note.isDirty)
    }

    @Test func `the load that was requested later determines the values, in any order of the responses`() async throws {
        let note = try note()
        let notes = ModelCollection<Note>(context: context)
        notes.source = PageSource(api.engine, Request("notes"))
        let load = await begin { try await note.load() }
        held.gate("GET notes").open()
        try await notes.load()
        held.gate("GET notes/7").open()
        try await load.value
        #expect(note.text == "list" && note.stars == 3)
    }

    @Test func `an object that a list contains before its POST is answered becomes one object`() async throws {
        let held = Held(["POST notes": StubAPI.Answer(201, ["id": 9, "text": "new", "stars": 0])])
        let api = StubAPI { call in
            call.method == "POST"
                ? await held.answer(call) : StubAPI.Answer(200, [["id": 9, "text": "new"], ["id": 8, "text": "y"]])
        }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        notes.source = PageSource(api.engine, Request("notes"))
        let draft = Note()
        draft.text = "new"
        let creation = Task { try await notes.create(draft) }
        await untilTrue { api.calls.count == 1 }
        try await notes.load()
        #expect(notes.count == 3)
        held.gate("POST notes").open()
        try await creation.value
        #expect(notes.count == 2 && notes[id: 9] === draft && draft.id == 9)
        try await notes.upload()
        #expect(api.calls.filter { $0.method == "POST" }.count == 1)
    }

    @Test(arguments: [[7, 8], [8, 7]])
    func `rows whose deletions fail return to their positions, whichever deletion fails first`(_ order: [Int])
        async throws
    {
        let notes = ModelCollection<Note>(context: context)
        try notes.set([["id": 7, "text": "a"], ["id": 8, "text": "b"], ["id": 9, "text": "c"]])
        var destructions: [Int: Task<Void, any Error>] = [:]
        for id in [7, 8] {
            let note = try #require(notes[id: ModelID(id)])
            destructions[id] = await begin(destructions.count + 1) { try await note.destroy() }
        }
        #expect(notes.map(\.id) == [9])
        for id in order {
            held.gate("DELETE notes/\(id)").open()
            await #expect(throws: ConnectionError.self) { try await destructions[id]?.value }
        }
        #expect(notes.map(\.id) == [7, 8, 9])
    }

    @Test func `a list keeps rows with unsaved changes that the server does not have any more`() async throws {
        let notes = ModelCollection<Note>(context: context)
        notes.source = PageSource(api.engine, Request("notes"))
        try notes.set([["id": 7, "text": "a"], ["id": 8, "text": "b"], ["id": 9, "text": "c"]])
        notes[id: 8]?.text = "mine"
        held.gate("GET notes").open()
        try await notes.load()
        #expect(notes.map(\.id) == [7, 8] && notes[id: 8]?.text == "mine")
    }

    @Test func `a deleted object does not return by a load, and adding it again cancels the deletion`()
        async throws
    {
        let notes = ModelCollection<Note>(context: context)
        notes.source = PageSource(api.engine, Request("notes"))
        try notes.set([["id": 7, "text": "a"]])
        let note = try #require(notes[id: 7])
        notes.delete(note)
        held.gate("GET notes").open()
        try await notes.load()
        #expect(notes.isEmpty && notes.deleted.count == 1)
        try notes.add(note)
        #expect(notes.deleted.isEmpty)
        try await notes.upload()
        #expect(!api.calls.contains { $0.method == "DELETE" })
    }

    @Test func `undoing a deletion restores the exact positions, and deleting a row twice has no further effect`()
        throws
    {
        let lists = [ModelCollection<Note>(context: context), ModelCollection<Note>(context: context)]
        for list in lists { try list.set([["id": 7, "text": "a"], ["id": 8, "text": "b"], ["id": 9, "text": "c"]]) }
        lists[1].sortKeys = [.by(\.id, order: .reverse, named: "id")]
        let notes = try [7, 8].map { try #require(lists[0][id: ModelID($0)]) }
        for note in notes { lists[0].delete(note) }
        lists[0].delete(notes[0])
        #expect(lists.map { $0.map(\.id) } == [[9], [9]] && lists[0].deleted.map(\.id) == [7, 8])
        #expect(lists[0].undelete(notes[0]) && lists[0].undelete(notes[1]))
        #expect(!lists[0].undelete(notes[1]))
        #expect(lists.map { $0.map(\.id) } == [[7, 8, 9], [9, 8, 7]])
        #expect(lists[0].deleted.isEmpty)
    }

    @Test func `a change that a setter refuses is an error, and nothing is sent`() async throws {
        let strict: StrictNote = try context.model(from: ["id": 7, "stars": 1])
        for mode in [SaveMode.optimistic, .wait] {
            let error = await #expect(throws: ModelError.self) { try await strict.save(mode) { $0.stars = -1 } }
            #expect(error?.code == .invalid)
        }
        #expect(api.calls.isEmpty && strict.rejections.isEmpty)
    }

    @Test func `a value that is set back during a save stays, and is sent by the next save`() async throws {
        let note = try note()
        let save = await begin { try await note.save { $0.text = "bread" } }
        note.text = "milk"
        held.gate("PATCH notes/7").open()
        try await save.value
        #expect(note.text == "milk" && note.changedJSON == ["text": "milk"])
    }

    @Test func `a value that a failed save restores is unsaved if it was unsaved before`() async throws {
        let failing = Held([:])
        let api = StubAPI { await failing.answer($0) }
        let context = ModelContext(engine: api.engine)
        let note: Note = try context.model(from: ["id": 7, "text": "A", "stars": 1])
        note.text = "B"
        failing.gate("PATCH notes/7").open()
        await #expect(throws: ConnectionError.self) {
            try await note.save {
                $0.text = "A"
                $0.stars = 5
            }
        }
        #expect(note.text == "B" && note.changedJSON == ["text": "B"])
    }

    @Test func `an upload skips objects that were added again or removed during the upload`() async throws {
        let gate = Gate()
        let api = StubAPI { _ in
            await gate.wait()
            return StubAPI.Answer(204)
        }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        try notes.set([["id": 1, "text": "a"], ["id": 2, "text": "b"], ["id": 3, "text": "c"]])
        let models = notes.models
        for model in models.prefix(2) { notes.delete(model) }
        let draft = Note()
        draft.text = "d"
        try notes.add(draft)
        let upload = Task { try await notes.upload() }
        await untilTrue { api.calls.count == 1 }
        try notes.set([models[1], models[2], draft])
        notes.remove(draft)
        gate.open()
        try await upload.value
        #expect(api.calls.map(\.path) == ["notes/1"])
        #expect(notes.map(\.id) == [2, 3] && notes.deleted.isEmpty)
    }

    @Test(arguments: [204, 500])
    func `a deletion that is being sent cannot be undone`(status: Int) async throws {
        let gate = Gate()
        let api = StubAPI { _ in
            await gate.wait()
            return StubAPI.Answer(status)
        }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        try notes.set([["id": 1, "text": "a"], ["id": 2, "text": "b"]])
        let note = notes.models[0]
        notes.delete(note)
        let upload = Task { try await notes.upload() }
        await untilTrue { api.calls.count == 1 }
        #expect(!notes.undelete(note) && notes.map(\.id) == [2])
        gate.open()
        _ = await upload.result
        // After a failure, the object may still be on the server.
        #expect(notes.undelete(note) == (status == 500))
        #expect(notes.map(\.id) == (status == 500 ? [1, 2] : [2]))
    }

    @Test func `a deleted object returns neither when a list is loaded nor when its creation ends`() async throws {
        let context = ModelContext(engine: api.engine)
        let lists = [ModelCollection<Note>(context: context), ModelCollection<Note>(context: context)]
        for list in lists { list.source = PageSource(api.engine, Request("notes")) }
        try lists[0].set([["id": 7, "text": "a"]])
        lists[0].delete(try #require(lists[0][id: 7]))
        held.gate("GET notes").open()
        try await lists[1].load()
        #expect(lists[1].isEmpty)
        let draft = Note()
        draft.text = "new"
        let creation = await begin(2) { try await lists[0].create(draft) }
        lists[0].delete(draft)
        held.gate("POST notes").open()
        try await creation.value
        #expect(lists[0].isEmpty && lists[0].deleted.count == 2)
    }

    @Test func `an object keeps the values of a newer response when an older one arrives`() async throws {
        let first = Gate()
        let api = StubAPI { call in
            if call.path == "a" { await first.wait() }
            return StubAPI.Answer(200, [["id": 7, "text": .string(call.path == "a" ? "old" : "new")]])
        }
        let context = ModelContext(engine: api.engine)
        let lists = ["a", "b"].map { path in
            let list = ModelCollection<Note>(context: context)
            list.source = PageSource(api.engine, Request(path))
            return list
        }
        let load = Task { try await lists[0].load() }
        await untilTrue { api.calls.count == 1 }
        try await lists[1].load()
        first.open()
        try await load.value
        #expect(lists[0].map(\.text) == ["new"] && lists[0].first === lists[1].first)
    }

    // MARK: Nested objects

    private func album(_ api: StubAPI, _ context: ModelContext) throws -> Album {
        try context.model(
            from: [
                "id": 1, "cover": ["name": "a", "width": 1],
                "notes": [["id": 1, "text": "x"], ["id": 2, "text": "y"]],
            ])
    }

    @Test func `a failed save also rolls back changes of nested objects`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(500) }
        let context = ModelContext(engine: api.engine)
        let album = try album(api, context)
        await #expect(throws: ConnectionError.self) {
            try await album.save { album in
                album.cover.name = "b"
                album.notes[id: 1]?.text = "z"
                album.notes.removeAll { $0.id == 2 }
            }
        }
        #expect(album.cover.name == "a" && album.notes.map(\.text) == ["x", "y"] && !album.isDirty)
    }

    @Test func `a nested change of a waiting save is applied when the server confirms it`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let context = ModelContext(engine: api.engine)
        let album = try album(api, context)
        try await album.save(.wait) { album in
            album.cover.name = "b"
            album.notes[id: 1]?.text = "z"
            album.notes.removeAll { $0.id == 2 }
        }
        #expect(album.cover.name == "b" && album.notes.map(\.text) == ["z"] && !album.isDirty)
        #expect(album.json["cover"]?["name"] == "b")
    }

    @Test func `a value that is set in a nested object during a save stays`() async throws {
        let gate = Gate()
        let api = StubAPI { _ in
            await gate.wait()
            return StubAPI.Answer(204)
        }
        let context = ModelContext(engine: api.engine)
        let album = try album(api, context)
        let save = Task { try await album.save(.wait) { $0.cover.name = "b" } }
        await untilTrue { api.calls.count == 1 }
        album.cover.width = 5
        gate.open()
        try await save.value
        #expect(album.cover.name == "b" && album.cover.width == 5 && album.cover.isDirty)
    }

    @Test func `a failed save restores a nested object that was changed and then replaced`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(500) }
        let context = ModelContext(engine: api.engine)
        let album = try album(api, context)
        let cover = album.cover
        await #expect(throws: ConnectionError.self) {
            try await album.save { album in
                album.cover.name = "b"
                album.cover = Cover()
            }
        }
        #expect(album.cover === cover && cover.name == "a" && !album.isDirty)
    }

    @Test func `a load keeps the unsaved insertions and removals of a nested list`() async throws {
        let api = StubAPI { _ in
            StubAPI.Answer(200, ["id": 1, "notes": [["id": 1, "text": "new"], ["id": 2, "text": "y"]]])
        }
        let context = ModelContext(engine: api.engine)
        let album = try album(api, context)
        album.notes.removeAll { $0.id == 2 }
        let added = Note()
        try album.notes.add(added)
        try await album.load()
        #expect(album.notes.allModels.map(\.text) == ["new", ""] && album.notes.contains(added) && album.isDirty)
    }

    // MARK: New objects

    @Test func `the JSON of a new object has no id`() throws {
        let notes = ModelCollection<Note>()
        for text in ["a", "b"] {
            let draft = Note()
            draft.text = text
            try notes.add(draft)
        }
        #expect(notes.first?.json["id"] == nil)
    }

    @Test func `the id in a Location field becomes the object's id, also in its JSON`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(201, headers: [.location: "/notes/9"]) }
        let context = ModelContext(engine: api.engine)
        let note = Note()
        try context.register(note)
        try await note.save { $0.text = "milk" }
        #expect(note.id == 9 && note.json["id"] == 9)
    }

    @Test func `an object that the server has created is not created again if the response breaks a rule`() async throws
    {
        let api = StubAPI { call in
            call.method == "POST" ? StubAPI.Answer(201, ["id": 9, "stars": -1]) : StubAPI.Answer(204)
        }
        let context = ModelContext(engine: api.engine)
        let note = StrictNote()
        try context.register(note)
        await #expect(throws: ModelError.self) { try await note.save { $0.stars = 2 } }
        #expect(note.serverID == 9 && note.stars == 2)
        try await note.save { $0.stars = 3 }
        #expect(api.calls.map(\.method) == ["POST", "PATCH"])
    }
}

/// A note whose stars are refused below zero.
final class StrictNote: Model {
    static let stars = Property(\StrictNote.stars, "stars", rules: [.range(0...)], policy: .reject)

    private var _stars = 0

    var stars: Int {
        get { read(Self.stars, from: _stars) }
        set { write(Self.stars, from: _stars, to: newValue) { _stars = $0 } }
    }

    override class var resource: Request? { Request("notes") }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _stars = visitor.visit(Self.stars, with: _stars)
    }
}

/// A model with a nested object and a nested list.
final class Album: Model {
    static let cover = Property(\Album.cover, "cover")
    static let notes = Property(\Album.notes, "notes")

    private var _cover = Cover()

    var cover: Cover {
        get { read(Self.cover, from: _cover) }
        set { write(Self.cover, from: _cover, to: newValue) { _cover = $0 } }
    }

    let notes = ModelCollection<Note>()

    override class var resource: Request? { Request("albums") }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _cover = visitor.visit(Self.cover, with: _cover)
        visitor.visit(Self.notes, with: notes)
    }
}

final class Cover: Model {
    static let name = Property(\Cover.name, "name")
    static let width = Property(\Cover.width, "width")

    private var _name = ""
    private var _width = 0

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var width: Int {
        get { read(Self.width, from: _width) }
        set { write(Self.width, from: _width, to: newValue) { _width = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Self.name, with: _name)
        _width = visitor.visit(Self.width, with: _width)
    }
}
