import Diamond
import DiamondModel
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@ModelActor
@Suite("The save of a model", .limit(minutes: 5)) struct ModelSavingTests {
    /// Retains the contexts of the tests, because models do not.
    private final class Contexts {
        var all: [ModelContext] = []
    }

    private let contexts = Contexts()

    private func note(_ api: StubAPI, _ json: JSONValue? = ["id": 7, "text": "milk", "stars": 1]) throws -> Note {
        let context = ModelContext(engine: api.engine)
        contexts.all.append(context)
        if let json { return try context.model(from: json) }
        let note = Note()
        try context.register(note)
        return note
    }

    @Test func `a new object is created by POST with the values that a user may set, and gets the server's id`()
        async throws
    {
        let api = StubAPI { _ in StubAPI.Answer(201, ["id": 7, "text": "milk", "stars": 0, "by": "me"]) }
        let note = try note(api, nil)
        try await note.save { $0.text = "milk" }
        #expect(api.calls == [StubAPI.Call("POST", "notes", ["text": "milk", "stars": 0])])
        #expect(note.serverID == 7 && note.id == 7 && !note.isDirty)
        #expect(note.json["by"] == "me")
        #expect(note.context?.existing(Note.self, id: 7) === note)
    }

    @Test(arguments: [(SaveMode.optimistic, true), (.optimistic, false), (.wait, true), (.wait, false)])
    func `changes are sent by PATCH, and confirmed by an answer with or without a body`(
        _ mode: SaveMode, _ hasBody: Bool
    ) async throws {
        let api = StubAPI { _ in
            hasBody ? StubAPI.Answer(200, ["id": 7, "text": "MILK", "stars": 1]) : StubAPI.Answer(204)
        }
        let note = try note(api)
        try await note.save(mode) { $0.text = "bread" }
        #expect(api.calls == [StubAPI.Call("PATCH", "notes/7", ["text": "bread"])])
        #expect(note.text == (hasBody ? "MILK" : "bread"))
        #expect(!note.isDirty)
        #expect(note.json["text"] == .string(note.text))
    }

    @Test func `the whole object is written by PUT, unknown members included`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let note = try note(api, ["id": 7, "text": "milk", "stars": 1, "by": "me"])
        try await note.save(as: .replace) { $0.stars = 2 }
        #expect(api.calls == [StubAPI.Call("PUT", "notes/7", ["id": 7, "text": "milk", "stars": 2, "by": "me"])])
    }

    @Test(arguments: [SaveMode.optimistic, .wait])
    func `an object that contains itself is sent with its id there`(_ mode: SaveMode) async throws {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let context = ModelContext(engine: api.engine)
        let knot = try context.model(Knot.self, from: ["id": 7])
        try await knot.save(mode) { $0.next = $0 }
        #expect(api.calls == [StubAPI.Call("PATCH", "knots/7", ["next": 7])])
        #expect(knot.next === knot && !knot.isDirty)
    }

    @Test func `an object without changes sends nothing`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        try await note(api).save()
        #expect(api.calls.isEmpty)
    }

    @Test func `values that break a rule are not sent, and an optimistic change is rolled back`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let note = try note(api)
        let error = await #expect(throws: ModelError.self) { try await note.save { $0.text = "" } }
        #expect(error?.code == .invalid)
        #expect(api.calls.isEmpty && note.text == "milk" && !note.isDirty)
    }

    @Test(arguments: [SaveMode.optimistic, .wait])
    func `a save that fails leaves the object as it was, including its dirty properties`(_ mode: SaveMode) async throws
    {
        let api = StubAPI { _ in StubAPI.Answer(500) }
        let note = try note(api)
        note.stars = 5
        var seen: [String] = []
        let token = note.observe { event in seen.append("\(event.source) \(note.text) \(note.stars)") }
        let error = await #expect(throws: ConnectionError.self) {
            try await note.save(mode) {
                $0.text = "bread"
                $0.stars = 9
            }
        }
        #expect(error?.code == .badStatus)
        #expect(note.text == "milk" && note.stars == 5)
        #expect(note.dirtyProperties.map(\.key) == ["stars"])
        #expect(note.changedJSON == ["stars": 5])
        note.rollback()
        #expect(note.stars == 1)
        #expect(seen.dropLast() == (mode == .wait ? [] : ["user bread 9", "rollback milk 5"]))
        token.cancel()
    }

    @Test func `a change of a waiting save is not visible before the server has confirmed it`() async throws {
        let gate = Gate()
        let api = StubAPI { _ in
            await gate.wait()
            return StubAPI.Answer(204)
        }
        let note = try note(api)
        let save = Task { try await note.save(.wait) { $0.text = "bread" } }
        await untilTrue { api.calls.count == 1 }
        #expect(note.text == "milk" && !note.isDirty)
        gate.open()
        try await save.value
        #expect(note.text == "bread" && !note.isDirty)
    }

    @Test(arguments: [SaveMode.optimistic, .wait], [204, 200])
    func `a value that is set during a save stays, and is sent by the next save`(
        _ mode: SaveMode, _ status: Int
    ) async throws {
        let gate = Gate()
        let api = StubAPI { call in
            await gate.wait()
            return StubAPI.Answer(status, status == 204 ? nil : ["id": 7, "text": "BREAD", "stars": 1])
        }
        let note = try note(api)
        let save = Task { try await note.save(mode) { $0.text = "bread" } }
        await untilTrue { api.calls.count == 1 }
        note.text = "cheese"
        gate.open()
        try await save.value
        #expect(note.text == "cheese")
        #expect(note.changedJSON == ["text": "cheese"])
        try await note.save()
        #expect(api.calls.last == StubAPI.Call("PATCH", "notes/7", ["text": "cheese"]))
    }

    @Test func `a failed optimistic save does not roll back a value that was set meanwhile`() async throws {
        let gate = Gate()
        let api = StubAPI { _ in
            await gate.wait()
            return StubAPI.Answer(500)
        }
        let note = try note(api)
        let save = Task {
            try await note.save {
                $0.text = "bread"
                $0.stars = 2
            }
        }
        await untilTrue { api.calls.count == 1 }
        note.text = "cheese"
        gate.open()
        await #expect(throws: ConnectionError.self) { try await save.value }
        #expect(note.text == "cheese" && note.stars == 1)
        #expect(note.dirtyProperties.map(\.key) == ["text"])
    }

    @Test func `two saves of a new object create it once`() async throws {
        let gate = Gate()
        let api = StubAPI { call in
            await gate.wait()
            return StubAPI.Answer(call.method == "POST" ? 201 : 200, ["id": 7, "text": "milk", "stars": 0])
        }
        let note = try note(api, nil)
        note.text = "milk"
        let first = Task { try await note.save() }
        let second = Task { try await note.save() }
        await untilTrue { api.calls.count == 1 }
        gate.open()
        try await first.value
        try await second.value
        #expect(api.calls.map(\.method) == ["POST"])
    }

    @Test func `a save that is canceled while it waits for another does not block the next save`() async throws {
        let gate = Gate()
        let api = StubAPI { _ in
            await gate.wait()
            return StubAPI.Answer(204)
        }
        let note = try note(api)
        let first = Task { try await note.save { $0.stars = 2 } }
        await untilTrue { api.calls.count == 1 }
        let second = Task { try await note.save { $0.stars = 3 } }
        let third = Task { try await note.save { $0.stars = 4 } }
        await Task.yield()
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.open()
        try await first.value
        try await third.value
        #expect(api.calls.map(\.body) == [["stars": 2], ["stars": 4]])
        #expect(note.stars == 4 && !note.isDirty)
    }

    @Test func `the response to an older request does not overwrite the values of a later save`() async throws {
        let gate = Gate()
        let api = StubAPI { call in
            guard call.method == "GET" else { return StubAPI.Answer(200, ["id": 7, "text": "new", "stars": 1]) }
            await gate.wait()
            return StubAPI.Answer(200, ["id": 7, "text": "old", "stars": 1])
        }
        let note = try note(api)
        let load = Task { try await note.load() }
        await untilTrue { api.calls.count == 1 }
        try await note.save { $0.text = "new" }
        gate.open()
        try await load.value
        #expect(note.text == "new")
    }

    @Test func `a load keeps unsaved values, and a rollback restores the loaded values`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(200, ["id": 7, "text": "theirs", "stars": 3]) }
        let note = try note(api)
        note.text = "mine"
        var events: [[String]] = []
        let token = note.observe { events.append($0.changes.map(\.key)) }
        try await note.load()
        #expect(note.text == "mine" && note.stars == 3)
        #expect(note.changedJSON == ["text": "mine"])
        #expect(events == [["stars"]])
        note.rollback()
        #expect(note.text == "theirs")
        token.cancel()
    }

    @Test func `a value that a load confirms is no longer unsaved`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(200, ["id": 7, "text": "mine", "stars": 1]) }
        let note = try note(api)
        note.text = "mine"
        try await note.load()
        #expect(!note.isDirty)
    }

    // MARK: Answers of other shapes

    @Test func `a response that names a created object only by its Location field provides its id`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(201, headers: [.location: "/notes/a%20b?x=1"]) }
        let note = try note(api, nil)
        try await note.save { $0.text = "milk" }
        #expect(note.serverID == "a b")
        #expect(!note.isDirty)
    }

    @Test func `a response without the id of a created object is an error`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(201) }
        let note = try note(api, nil)
        note.text = "milk"
        let error = await #expect(throws: ModelError.self) { try await note.save() }
        #expect(error?.code == .missingID)
        #expect(note.isNew && note.text == "milk")
    }

    @Test(arguments: [JSONValue.array([]), "done", 7, true])
    func `a response that is not a JSON object confirms the sent values`(_ body: JSONValue) async throws {
        let api = StubAPI { _ in StubAPI.Answer(200, body) }
        let note = try note(api)
        try await note.save { $0.text = "bread" }
        #expect(note.text == "bread" && !note.isDirty)
    }

    @Test(arguments: ["PATCH", "GET"])
    func `a response for another object is refused, and none of its values is applied`(_ method: String) async throws {
        let api = StubAPI { _ in StubAPI.Answer(200, ["id": 8, "text": "theirs", "stars": 9]) }
        let note = try note(api)
        let error = await #expect(throws: ModelError.self) {
            if method == "GET" { try await note.load() } else { try await note.save { $0.text = "bread" } }
        }
        #expect(error?.code == .otherObject)
        #expect(note.text == "milk" && note.serverID == 7 && note.stars == 1)
    }

    @Test func `a saved object replaces another instance with its id, so that it is not created twice`()
        async throws
    {
        let api = StubAPI { _ in StubAPI.Answer(201, ["id": 7, "text": "milk", "stars": 0]) }
        let context = ModelContext(engine: api.engine)
        let twin: Note = try context.model(from: ["id": 7, "text": "old", "stars": 0])
        let note = Note()
        let notes = try ModelCollection([context.model(Note.self, from: ["id": 6, "text": "x"]), twin, note])
        try await note.save { $0.text = "milk" }
        #expect(notes.map(\.id) == [6, 7] && notes[id: 7] === note)
        #expect(context.existing(Note.self, id: 7) === note && twin.context == nil)
        try await notes.upload()
        #expect(api.calls.count == 1)
    }

    @Test func `a body that is no JSON is an error, and the change is rolled back`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(text: "<html>") }
        let note = try note(api)
        let error = await #expect(throws: ModelError.self) { try await note.save { $0.text = "bread" } }
        #expect(error?.code == .malformed)
        #expect(note.text == "milk" && !note.isDirty)
    }

    // MARK: URLs

    @Test(arguments: [
        ("7", "notes/7"), ("a b", "notes/a%20b"), ("a/b", "notes/a%2Fb"), ("é?", "notes/%C3%A9%3F"), ("#", "notes/%23"),
    ]) func `an id is encoded as one segment of the URL's path`(_ id: String, _ path: String) async throws {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let note = try note(api, ["id": .string(id), "text": "milk"])
        try await note.save { $0.text = "bread" }
        #expect(api.calls.map(\.path) == [path])
    }

    @Test(arguments: [".", ".."]) func `an id that would change the path of the URL is refused`(_ id: String)
        async throws
    {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let note = try note(api, ["id": .string(id), "text": "milk"])
        await #expect(throws: ModelError.self) { try await note.save { $0.text = "bread" } }
        #expect(api.calls.isEmpty)
    }

    @Test func `a model without engine or URL says what it needs`() async throws {
        let note = Note()
        let noEngine = await #expect(throws: ModelError.self) { try await note.save { $0.text = "milk" } }
        #expect(noEngine?.code == .noEngine)
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let person = Person()
        let context = ModelContext(engine: api.engine)
        try context.register(person)
        let noResource = await #expect(throws: ModelError.self) { try await person.save { $0.name = "A" } }
        #expect(noResource?.code == .noResource)
        withExtendedLifetime(context) {}
    }

    // MARK: Loading

    @Test func `a class may find no object in a response that is no JSON`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(text: "nothing new") }
        let context = ModelContext(engine: api.engine)
        let telegram: Telegram = try context.model(from: ["id": 7])
        try await telegram.load()
        #expect(telegram.isLoaded && telegram.modelID == 7)
    }

    @Test func `a model without a server is static, and loading it does nothing`() async throws {
        let note = Note()
        #expect(note.isLoaded)
        try await note.load()
        #expect(note.loadState.loadedAt == nil)
    }

    @Test func `a model is loaded from its own URL`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(200, ["id": 7, "text": "new", "stars": 3], headers: [.age: "60"]) }
        let note = try note(api)
        #expect(!note.isLoaded)
        try await note.load(policy: .reload)
        #expect(api.calls == [StubAPI.Call("GET", "notes/7")])
        #expect(note.text == "new" && note.isLoaded && !note.isOutdated)
        #expect(note.loadState.loadedAt.map { $0 < Date().addingTimeInterval(-59) } == true)
    }

    // MARK: Destroying

    @Test func `destroying deletes on the server, and leaves every collection`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let note = try note(api)
        let notes = try ModelCollection([note])
        try await note.destroy()
        #expect(api.calls == [StubAPI.Call("DELETE", "notes/7")])
        #expect(notes.isEmpty)
    }

    @Test func `destroying a new object sends nothing`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let note = try note(api, nil)
        let notes = try ModelCollection([note])
        try await note.destroy()
        #expect(api.calls.isEmpty && notes.isEmpty)
    }

    @Test(arguments: [404, 410]) func `a server that does not have the object confirms its destruction`(_ status: Int)
        async throws
    {
        let api = StubAPI { _ in StubAPI.Answer(status) }
        let note = try note(api)
        let notes = try ModelCollection([note])
        try await note.destroy(.wait)
        #expect(notes.isEmpty)
    }

    @Test(arguments: [SaveMode.optimistic, .wait], [false, true])
    func `a failed destruction leaves every collection as it was, each row in its place`(
        _ mode: SaveMode, _ isSorted: Bool
    ) async throws {
        let gate = Gate()
        let api = StubAPI { _ in
            await gate.wait()
            return StubAPI.Answer(500)
        }
        let context = ModelContext(engine: api.engine)
        let lists = [ModelCollection<Note>(context: context), ModelCollection<Note>(context: context)]
        for (index, list) in lists.enumerated() {
            if isSorted { list.sortKeys = [.by(\.stars, order: .reverse, named: "stars")] }
            let ids = index == 0 ? [5, 7, 9] : [7, 9, 5]
            try list.set(.array(ids.map { ["id": JSONValue($0), "text": "x", "stars": JSONValue($0 / 6)] }))
        }
        // By hand, out of the sort order.
        if isSorted { try lists[1].move(from: try #require(lists[1].firstIndex { $0.id == 7 }), to: 2) }
        let before = lists.map { ($0.map(\.id), $0.allModels.map(\.id)) }
        let note = try #require(lists[0][id: 7])
        let destruction = Task { try await note.destroy(mode) }
        await untilTrue { api.calls.count == 1 }
        #expect(lists.map(\.count) == (mode == .wait ? [3, 3] : [2, 2]))
        gate.open()
        await #expect(throws: ConnectionError.self) { try await destruction.value }
        for (list, before) in zip(lists, before) {
            #expect(list.map(\.id) == before.0)
            #expect(list.allModels.map(\.id) == before.1)
        }
    }
}

/// An object that may contain itself.
private final class Knot: Model {
    static let next: Property<Knot, Knot?> = Property(nullable: \.next, "next")

    private var _next: Knot?

    var next: Knot? {
        get { read(Self.next, from: _next) }
        set { write(Self.next, from: _next, to: newValue) { _next = $0 } }
    }

    override class var resource: Request? { Request("knots") }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _next = visitor.visit(Self.next, with: _next)
    }
}

/// An object whose server answers in text.
private final class Telegram: Model {
    override class var resource: Request? { Request("telegrams") }

    override class func object(in response: Response) throws -> ObjectMembers? { nil }
}
