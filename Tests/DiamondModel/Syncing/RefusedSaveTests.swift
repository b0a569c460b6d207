import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

/// Visible changes that the server refuses: the object returns to what the server has confirmed.
@ModelActor
@Suite("A refused save", .limit(minutes: 5)) struct RefusedSaveTests {
    /// An API that answers the calls with statuses in their order, each when the test says so.
    private final class Held: Sendable {
        private let statuses: Guarded<[Int]>
        private let gates: [Gate]
        private let next = Guarded(0)
        private let body: JSONValue?

        init(_ statuses: [Int], body: JSONValue? = nil) {
            self.statuses = Guarded(statuses)
            gates = statuses.map { _ in Gate() }
            self.body = body
        }

        func answer(_ call: StubAPI.Call) async -> StubAPI.Answer {
            let index = next.withLock { index in
                defer { index += 1 }
                return index
            }
            guard gates.indices.contains(index) else { return StubAPI.Answer(204) }
            await gates[index].wait()
            let status = statuses.withLock { $0[index] }
            return StubAPI.Answer(status, status == 200 ? body : nil)
        }

        func open() { for gate in gates { gate.open() } }
    }

    private func note(_ api: StubAPI) throws -> (Note, ModelContext) {
        let context = ModelContext(engine: api.engine)
        return (try context.model(from: ["id": 7, "text": "O", "stars": 1]), context)
    }

    /// Starts saves at once, answers them in their order, and returns the sent values and the object.
    private func outcome(
        _ statuses: [Int], _ texts: [String], modes: [SaveMode] = [], body: JSONValue? = nil
    ) async throws -> (sent: [JSONValue?], note: Note) {
        let held = Held(statuses, body: body)
        let api = StubAPI { await held.answer($0) }
        let (note, context) = try note(api)
        var saves: [Task<Void, any Error>] = []
        for (index, text) in texts.enumerated() {
            let mode = modes.isEmpty ? .optimistic : modes[index]
            saves.append(Task { try await note.save(mode) { $0.text = text } })
            // Each save waits at the API or at the lock of the object.
            for _ in 0..<20 { await Task.yield() }
        }
        held.open()
        for save in saves { _ = await save.result }
        withExtendedLifetime(context) {}
        return (api.calls.map { $0.body?["text"] }, note)
    }

    // A save sends the visible values: the second of three sends the third value.
    @Test(
        arguments: [
            ([422, 422], ["A", "B"], "O"), ([422, 204], ["A", "B"], "B"), ([204, 422], ["A", "B"], "A"),
            ([204, 204], ["A", "B"], "B"), ([422, 422, 422], ["A", "B", "C"], "O"),
            ([422, 204, 422], ["A", "B", "C"], "C"),
            ([204, 422, 422], ["A", "B", "C"], "A"), ([422, 422, 204], ["A", "B", "C"], "C"),
            ([422, 422, 422], ["A", "B", "A"], "O"), ([422, 204, 204], ["A", "B", "A"], "A"),
            ([204, 422, 204], ["A", "B", "C"], "C"), ([422, 422], ["A", "A"], "O"), ([204, 204], ["A", "O"], "O"),
            ([204, 422], ["A", "O"], "A"), ([422], ["A", "O"], "O"),
        ] as [([Int], [String], String)])
    func `a refused change returns to the last confirmed value, and nothing remains unsaved`(
        _ statuses: [Int], _ texts: [String], _ expected: String
    ) async throws {
        let (sent, note) = try await outcome(statuses, texts)
        #expect(note.text == expected && !note.isDirty && note.changedJSON == [:], "\(sent)")
        #expect(note.json["text"] == .string(expected))
        note.text = "later"
        note.rollback()
        #expect(note.text == expected)
    }

    @Test func `many refused changes return to the confirmed value`() async throws {
        let (_, note) = try await outcome(Array(repeating: 422, count: 200), (0..<200).map { "\($0)" })
        #expect(note.text == "O" && !note.isDirty && note.changedJSON == [:])
    }

    @Test(
        arguments: [
            ([SaveMode.wait, .optimistic], [422, 422], "O"), ([.wait, .optimistic], [204, 422], "A"),
            ([.optimistic, .wait], [422, 422], "O"), ([.optimistic, .wait], [204, 422], "A"),
            ([.optimistic, .wait], [422, 204], "B"), ([.wait, .wait], [422, 422], "O"),
            ([.wait, .optimistic], [422, 204], "B"),
        ] as [([SaveMode], [Int], String)])
    func `a refused change returns to the confirmed value, also beside a change that waits`(
        _ modes: [SaveMode], _ statuses: [Int], _ expected: String
    ) async throws {
        let (sent, note) = try await outcome(statuses, ["A", "B"], modes: modes)
        #expect(note.text == expected && !note.isDirty, "\(sent)")
    }

    @Test func `a refused change returns to the value that the server has made of the confirmed one`() async throws {
        let (_, note) = try await outcome([200, 422], ["A", "B"], body: ["id": 7, "text": "a!"])
        #expect(note.text == "a!" && !note.isDirty)
    }

    @Test(arguments: [true, false])
    func `refused changes leave a value that the user has set before or after them`(isSetBefore: Bool) async throws {
        let held = Held([422, 422])
        let api = StubAPI { await held.answer($0) }
        let (note, context) = try note(api)
        if isSetBefore { note.text = "mine" }
        let saves = ["A", "B"].map { text in Task { try await note.save { $0.text = text } } }
        for _ in 0..<20 { await Task.yield() }
        if !isSetBefore { note.text = "mine" }
        held.open()
        for save in saves { _ = await save.result }
        #expect(note.text == "mine" && note.changedJSON == ["text": "mine"])
        note.rollback()
        #expect(note.text == "O")
        withExtendedLifetime(context) {}
    }

    @Test func `a change that is canceled while it waits returns to the change before it, until that is refused`()
        async throws
    {
        let held = Held([422, 422])
        let api = StubAPI { await held.answer($0) }
        let (note, context) = try note(api)
        let saves = ["A", "B", "C"].map { text in Task { try await note.save { $0.text = text } } }
        for _ in 0..<20 { await Task.yield() }
        saves[2].cancel()
        _ = await saves[2].result
        #expect(note.text == "B")
        saves[1].cancel()
        _ = await saves[1].result
        #expect(note.text == "A")
        held.open()
        _ = await saves[0].result
        #expect(note.text == "O" && !note.isDirty)
        withExtendedLifetime(context) {}
    }

    @Test(arguments: [([422, 422], "a", [1]), ([204, 422], "b", [1, 2]), ([422, 204], "c", [1, 3])])
    func `refused changes of nested objects return to the confirmed ones`(
        _ statuses: [Int], _ name: String, _ members: [Int]
    ) async throws {
        let held = Held(statuses)
        let api = StubAPI { await held.answer($0) }
        let context = ModelContext(engine: api.engine)
        let album: Album = try context.model(
            from: ["id": 1, "cover": ["name": "a", "width": 1], "notes": [["id": 1, "text": "x"]]])
        let others: [Note] = try [2, 3].map { try context.model(from: ["id": JSONValue($0), "text": "y"]) }
        let saves = [("b", others[0]), ("c", others[1])].map { name, note in
            Task {
                try await album.save { album in
                    album.cover.name = name
                    album.notes[id: 1]?.text = name
                    _ = try? album.notes.add(note)
                }
            }
        }
        for _ in 0..<20 { await Task.yield() }
        held.open()
        for save in saves { _ = await save.result }
        #expect(album.cover.name == name && album.notes.map(\.id) == members)
        #expect(album.notes[id: 1]?.text == (name == "a" ? "x" : name))
        #expect(!album.isDirty, "\(album.changedJSON)")
        album.rollback()
        album.cover.rollback()
        #expect(album.cover.name == name)
    }

    @Test(arguments: [([422, 422], "O"), ([200, 422], "A"), ([422, 200], "B")])
    func `changes of queued saves that are refused at once return to the confirmed value`(
        _ statuses: [Int], _ expected: String
    ) async throws {
        let api = QueuedAPI()
        let program = try api.start()
        let note = Note()
        try program.context.register(note)
        try await note.save(.queued) { $0.text = "O" }
        for (index, text) in ["A", "B"].enumerated() {
            if statuses[index] == 422 { api.answerOnce(StubAPI.Answer(422)) }
            try? await note.save(.queued) { $0.text = text }
        }
        #expect(note.text == expected && !note.isDirty && api.notes.values.first?["text"] == .string(expected))
    }

    @Test(arguments: [SaveMode.optimistic, .wait])
    func `two refused deletions leave the object at its place, with its confirmed values`(_ mode: SaveMode) async throws
    {
        let held = Held([422, 422, 422])
        let api = StubAPI { await held.answer($0) }
        let (note, context) = try note(api)
        let notes = ModelCollection<Note>(context: context)
        try notes.set([["id": 6, "text": "x"], ["id": 7, "text": "O", "stars": 1], ["id": 8, "text": "y"]])
        let save = Task { try await note.save { $0.text = "A" } }
        let deletions = [0, 1].map { _ in Task { try await note.destroy(mode) } }
        for _ in 0..<20 { await Task.yield() }
        held.open()
        _ = await save.result
        for deletion in deletions { _ = await deletion.result }
        #expect(notes.map(\.id) == [6, 7, 8] && note.text == "O" && !note.isDirty)
    }

    /// Random saves of two properties at once, of which the server refuses some.
    @Test(arguments: 0..<Effort.rounds(40, soaking: 4000))
    func `an object has the server's values after random saves, refusals and cancellations`(_ seed: Int) async throws {
        var random = SplitMix(state: Effort.seed &+ UInt64(seed))
        let count = 2 + random.below(6)
        let held = Held((0..<count).map { _ in random.below(2) == 0 ? 422 : 204 })
        let server = Guarded<[String: JSONValue]>(["id": 7, "text": "O", "stars": 1])
        let api = StubAPI { call in
            let answer = await held.answer(call)
            if answer.status == 204, case .object(let change)? = call.body {
                server.withLock { $0.merge(change) { $1 } }
            }
            return answer
        }
        let (note, context) = try note(api)
        var saves: [Task<Void, any Error>] = []
        for index in 0..<count {
            let mode: SaveMode = random.below(4) == 0 ? .wait : .optimistic
            let (text, stars) = (["A", "B", "O"][random.below(3)], random.below(3))
            let changes = 1 + random.below(3)
            saves.append(
                Task {
                    try await note.save(mode) { note in
                        if changes & 1 != 0 { note.text = text }
                        if changes & 2 != 0 { note.stars = stars }
                    }
                })
            for _ in 0..<random.below(20) { await Task.yield() }
            if random.below(5) == 0 { saves[random.below(index + 1)].cancel() }
        }
        held.open()
        for save in saves { _ = await save.result }
        // A save that was canceled on its way may have reached the server.
        guard !saves.contains(where: \.isCancelled) else {
            #expect(!note.isDirty, "DIAMOND_SEED=\(Effort.seed), \(seed)")
            return
        }
        #expect(!note.isDirty && note.json == .object(server.withLock { $0 }), "DIAMOND_SEED=\(Effort.seed), \(seed)")
        withExtendedLifetime(context) {}
    }
}
