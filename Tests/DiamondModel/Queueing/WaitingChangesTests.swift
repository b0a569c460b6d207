import Diamond
import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@testable import DiamondModel

/// Objects show what waits in the queue, however they become live, in a program that was started again.
@ModelActor
@Suite("Waiting changes of an object", .limit(minutes: 5)) struct WaitingChangesTests {
    /// A way by which an object becomes live.
    nonisolated enum Way: String, CaseIterable, Sendable {
        case page, search, load, json, merge, upsert, nested, archive, queuedModels
    }

    private let api = QueuedAPI()
    private let old: JSONValue = ["id": 7, "text": "Old", "stars": 0]

    /// Queues a call for the note 7 without a network, and ends the program.
    private func queue(as user: String? = nil, _ change: (Note) async throws -> Void) async throws {
        api.put(old, at: 7)
        let program = try api.start(as: user)
        let note = try program.context.model(Note.self, from: old)
        api.isOnline = false
        try await change(note)
        api.isOnline = true
        await program.engine.close()
    }

    private func edit(_ note: Note) async throws { try await note.save(.queued) { $0.text = "Edited offline" } }

    private func list(_ program: QueuedAPI.Program, _ request: Request = Request("notes")) -> ModelCollection<Note> {
        let list = ModelCollection<Note>(context: program.context)
        list.source = PageSource(program.engine, request)
        return list
    }

    /// Makes the note 7 live, and returns it with what retains it.
    private func live(_ way: Way, _ program: QueuedAPI.Program) async throws -> (note: Note?, owner: AnyObject?) {
        let context = program.context
        switch way {
        case .page, .search:
            let list = list(program, way == .page ? Request("notes") : Request("notes", parameters: ["q": "o"]))
            try await list.load()
            return (list.first, list)
        case .load:
            let note = try context.model(Note.self, from: ["id": 7])
            try await note.load()
            return (note, nil)
        case .json: return (try context.model(Note.self, from: old), nil)
        case .merge:
            let note = try context.model(Note.self, from: ["id": 7])
            try note.merge(old)
            return (note, nil)
        case .upsert:
            let list = ModelCollection<Note>(context: context)
            try list.upsert(.array([old]))
            return (list.first, list)
        case .nested:
            let board = try context.model(Board.self, from: ["id": 1, "note": old])
            return (board.note, board)
        case .archive:
            let note = try JSONDecoder().decode(Note.self, from: JSONEncoder().encode(try Note(json: old)))
            try context.register(note)
            return (note, nil)
        case .queuedModels:
            let note = try context.model(Note.self, from: old)
            return (try await context.queuedModels(Note.self).first { $0 === note }, note)
        }
    }

    // MARK: Changes

    @Test(arguments: Way.allCases)
    func `an object shows its waiting change however it becomes live, and a later save keeps it`(
        _ way: Way
    ) async throws {
        try await queue(edit)
        let program = try api.start()
        let (found, owner) = try await live(way, program)
        let note = try #require(found)
        #expect(note.text == "Edited offline" && note.isDirty && note.hasQueuedSaves)
        #expect(note.dirtyProperties.map(\.key) == ["text"] && note.stars == 0)
        guard case .waiting = note.saveState else { throw WrongState(note.saveState) }
        #expect(program.context.waiting.map(\.id) == [7] && program.context.waiting.first?.model === note)
        api.isOnline = false
        try await note.save(.queued) { $0.stars = 2 }
        let job = try #require(try program.waiting.first)
        #expect(try program.queue.request(of: job.id)?.body?.jsonValue == ["text": "Edited offline", "stars": 2])
        api.isOnline = true
        try await program.drain(Note.self)
        #expect(api.notes[7] == ["id": 7, "text": "Edited offline", "stars": 2])
        #expect(!note.isDirty && note.saveState.isSame(as: .saved) && program.context.waiting.isEmpty)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Way.allCases.filter { $0 != .queuedModels }, ["ben", nil])
    func `an object does not show the waiting change of another user`(_ way: Way, _ user: String?) async throws {
        try await queue(as: "anna", edit)
        let program = try api.start(as: "ben")
        program.session.signIn(user)
        let (note, owner) = try await live(way, program)
        #expect(note?.text == "Old" && note?.isDirty == false && note?.hasQueuedSaves == false)
        #expect(try await program.context.collectSaves(of: Note.self).isEmpty)
        #expect(note?.text == "Old" && program.context.waiting.isEmpty)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Way.allCases)
    func `an object shows the waiting change of its user as soon as the context knows who is signed in`(
        _ way: Way
    ) async throws {
        try await queue(as: "anna", edit)
        let program = try api.start(as: "anna")
        let (note, owner) = try await live(way, program)
        try await program.context.collectSaves(of: Note.self)
        #expect(note?.text == "Edited offline" && note?.hasQueuedSaves == true)
        withExtendedLifetime(owner) {}
    }

    @Test func `a save before any load is queued behind the waiting change`() async throws {
        try await queue(as: "anna", edit)
        let program = try api.start(as: "anna")
        let note = try program.context.model(Note.self, from: old)
        api.isOnline = false
        try await note.save { $0.stars = 2 }
        let job = try #require(try program.waiting.first)
        #expect(try program.queue.request(of: job.id)?.body?.jsonValue == ["text": "Edited offline", "stars": 2])
        #expect(note.text == "Edited offline" && note.stars == 2)
    }

    @Test func `a live object shows what another context of the program queues`() async throws {
        api.put(old, at: 7)
        let (one, other) = (try api.start(), try api.start())
        let note = try one.context.model(Note.self, from: old)
        let same = try other.context.model(Note.self, from: old)
        try await other.context.collectSaves(of: Note.self)
        api.isOnline = false
        try await note.save(.queued) { $0.text = "Edited offline" }
        try await other.context.collectSaves(of: Note.self)
        #expect(same.text == "Edited offline" && same.isDirty && same.hasQueuedSaves)
        api.isOnline = true
        try await one.drain(Note.self)
        #expect(!note.isDirty)
        try await other.context.collectSaves(of: Note.self)
        #expect(same.text == "Edited offline" && !same.isDirty && !same.hasQueuedSaves)
    }

    @Test func `a load keeps a waiting change, and a change that the user has made since`() async throws {
        try await queue(edit)
        let program = try api.start()
        let list = list(program)
        try await list.load()
        list[0].stars = 4
        api.put(["id": 7, "text": "Newer", "stars": 1], at: 7)
        try await list.load(policy: .revalidate)
        #expect(list[0].text == "Edited offline" && list[0].stars == 4)
        try list[0].merge(["text": "Pushed"])
        #expect(list[0].text == "Edited offline")
        list[0].rollback()
        #expect(list[0].text == "Pushed" && list[0].stars == 1)
    }

    @Test func `objects of two lists without a URL of their class show only their own changes`() async throws {
        api.put(old, at: 7)
        var program = try api.start()
        let list = ModelCollection<ListedNote>(context: program.context)
        list.source = PageSource(program.engine, Request("users/1/notes"))
        try list.upsert(.array([old]))
        api.isOnline = false
        try await list[0].save(.queued) { $0.text = "Edited offline" }
        api.isOnline = true
        await program.engine.close()
        for user in 1...2 {
            program = try api.start()
            let list = ModelCollection<ListedNote>(context: program.context)
            list.source = PageSource(program.engine, Request("users/\(user)/notes"))
            try await list.load()
            #expect(list[0].text == (user == 1 ? "Edited offline" : "Old"))
        }
    }

    // MARK: Answers

    @Test func `JSON that is merged after the answer replaces what the call has sent`() async throws {
        api.put(old, at: 7)
        let (one, other) = (try api.start(), try api.start())
        let note = try one.context.model(Note.self, from: old)
        api.isOnline = false
        try await note.save(.queued) {
            $0.stars = 1
            $0.text = "Edited offline"
        }
        api.isOnline = true
        try await other.replay()
        api.advance(by: .seconds(1))
        try note.merge(["stars": 2])
        #expect(note.stars == 1)
        try await one.context.collectSaves(of: Note.self)
        #expect(note.stars == 2 && note.text == "Edited offline" && !note.isDirty && !note.hasQueuedSaves)
    }

    /// The answer to the waiting change, and the note after it.
    nonisolated enum Outcome: CaseIterable, Sendable { case confirmed, corrected, refused }

    @Test(arguments: Outcome.allCases, [Way.page, .json, .nested])
    func `a change leaves what waits with its answer`(_ outcome: Outcome, _ way: Way) async throws {
        try await queue(edit)
        let program = try api.start()
        let (found, owner) = try await live(way, program)
        let note = try #require(found)
        switch outcome {
        case .confirmed: break
        case .corrected: api.answerOnce(StubAPI.Answer(200, ["id": 7, "text": "Corrected", "stars": 3]))
        case .refused: api.answerOnce(StubAPI.Answer(422))
        }
        try await program.replay()
        try await program.context.collectSaves(of: Note.self)
        #expect(note.text == (outcome == .corrected ? "Corrected" : "Edited offline"))
        #expect(note.isDirty == (outcome == .refused) && !note.hasQueuedSaves && program.context.waiting.isEmpty)
        if outcome == .refused {
            guard case .failed(let error) = note.saveState else { throw WrongState(note.saveState) }
            #expect((error as? ConnectionError)?.response?.status.code == 422)
            try await note.save()
            #expect(api.notes[7]?["text"] == "Edited offline")
        }
        #expect(note.saveState.isSame(as: .saved))
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: [Way.page, .load, .json, .nested])
    func `a change that was refused before its object was live stays an unsaved change`(_ way: Way) async throws {
        try await queue(edit)
        let program = try api.start()
        api.answerOnce(StubAPI.Answer(422))
        try await program.replay()
        let saves = try await program.context.collectSaves(of: Note.self)
        #expect(saves.count == 1 && saves.first?.failure != nil)
        let (found, owner) = try await live(way, program)
        let note = try #require(found)
        #expect(note.text == "Edited offline" && note.isDirty && !note.hasQueuedSaves)
        #expect(note.saveState.isSame(as: .failed(CancellationError())))
        note.rollback()
        #expect(note.text == "Old" && note.saveState.isSame(as: .saved))
        withExtendedLifetime(owner) {}
    }

    @Test func `a list that is loaded after the answer shows the server's value alone`() async throws {
        try await queue(edit)
        let program = try api.start()
        try await program.replay()
        let list = list(program)
        try await list.load()
        #expect(list[0].text == "Edited offline" && !list[0].isDirty && !list[0].hasQueuedSaves)
        #expect(try await program.context.collectSaves(of: Note.self).count == 1)
    }

    @Test(arguments: [CachePolicy.revalidate, .cacheOnly])
    func `a list that is loaded after the answer shows the newer values of the two`(_ policy: CachePolicy) async throws
    {
        api.put(old, at: 7)
        let (one, other) = (try api.start(), try api.start())
        let list = list(one)
        api.answerOnce(StubAPI.Answer(200, .array([old]), headers: [.cacheControl: "max-age=60"]))
        try await list.load()
        api.isOnline = false
        try await edit(list[0])
        api.isOnline = true
        api.advance(by: .seconds(1))
        try await other.replay()
        api.put(["id": 7, "text": "Edited elsewhere", "stars": 5], at: 7)
        api.advance(by: .seconds(1))
        try await list.load(policy: policy)
        #expect(list[0].text == (policy == .cacheOnly ? "Edited offline" : "Edited elsewhere"))
        #expect(list[0].stars == (policy == .cacheOnly ? 0 : 5))
        #expect(!list[0].isDirty && !list[0].hasQueuedSaves)
    }

    @Test func `a list from a source without requests shows an answer that its load has collected`() async throws {
        api.put(old, at: 7)
        let (one, other) = (try api.start(), try api.start())
        let list = ModelCollection<Note>(context: one.context)
        list.source = PageSource { [old] _ in Page(items: [old], isLast: true) }
        try await list.load()
        api.isOnline = false
        try await edit(list[0])
        api.isOnline = true
        api.advance(by: .seconds(1))
        try await other.replay()
        api.advance(by: .seconds(1))
        try await list.load(policy: .revalidate)
        #expect(list[0].text == "Edited offline" && !list[0].isDirty && !list[0].hasQueuedSaves)
    }

    @Test func `a call that needs review is shown until a person decides`() async throws {
        var program = try api.start()
        let memo = Memo()
        try program.context.register(memo)
        api.isOnline = false
        try await memo.save(.queued) { $0.text = "milk" }
        api.isOnline = true
        api.answerOnce(StubAPI.Answer(503))
        try await program.replay()
        await program.engine.close()
        program = try api.start()
        let restored = try #require(try await program.context.queuedModels(Memo.self).first)
        #expect(restored.text == "milk" && restored.isNew && restored.saveState.isSame(as: .needsReview))
        #expect(program.context.waiting.first?.state.isSame(as: .needsReview) == true)
        try await program.queue.redrive(try #require(program.context.waiting.first?.jobIDs.first))
        try await program.drain(Memo.self)
        #expect(restored.serverID == 7 && restored.saveState.isSame(as: .saved))
    }

    // MARK: Deletions

    @Test(arguments: ["load", "upsert", "set", "nested"])
    func `an object whose deletion waits is in no list, and returns when the server refuses`(
        _ way: String
    ) async throws {
        api.put(["id": 8, "text": "Other", "stars": 0], at: 8)
        try await queue { try await $0.destroy(.queued) }
        let program = try api.start()
        let list = list(program)
        let notes: JSONValue = [old, ["id": 8, "text": "Other", "stars": 0]]
        var board: Board?
        func read() async throws -> [String] {
            switch way {
            case "load": try await list.load(policy: .revalidate)
            case "upsert": try list.upsert(notes)
            case "set": try list.set(notes)
            default:
                let owner = try program.context.model(Board.self, from: ["id": 1, "notes": notes])
                board = owner
                return owner.notes.map(\.text)
            }
            return list.map(\.text)
        }
        #expect(try await read() == ["Other"])
        #expect(program.context.waiting.map(\.call) == [.destroy])
        api.answerOnce(StubAPI.Answer(403))
        try await program.replay()
        try await program.context.collectSaves(of: Note.self)
        #expect(Set(try await read()) == ["Old", "Other"])
        #expect(program.context.waiting.isEmpty)
        withExtendedLifetime(board) {}
    }

    @Test func `a deletion by another context of the program removes the object from the lists`() async throws {
        api.put(old, at: 7)
        let (one, other) = (try api.start(), try api.start())
        let list = list(other)
        try await list.load()
        let note = try one.context.model(Note.self, from: old)
        api.isOnline = false
        try await note.destroy(.queued)
        try await other.context.collectSaves(of: Note.self)
        #expect(list.isEmpty)
        api.isOnline = true
        api.answerOnce(StubAPI.Answer(403))
        try await other.replay()
        try await other.context.collectSaves(of: Note.self)
        #expect(list.map(\.text) == ["Old"])
    }

    // MARK: New objects

    private func queueNewNotes(_ texts: String...) async throws {
        api.put(old, at: 7)
        let program = try api.start()
        let list = list(program)
        api.isOnline = false
        for text in texts {
            let note = Note()
            note.text = text
            try await list.create(note, .queued)
        }
        api.isOnline = true
        await program.engine.close()
    }

    @Test func `a list shows its waiting new objects once, at their places`() async throws {
        try await queueNewNotes("Alpha", "Zulu")
        let program = try api.start()
        let list = list(program)
        try await list.load()
        #expect(list.map(\.text) == ["Old", "Alpha", "Zulu"] && list[1].isNew && list[1].hasQueuedSaves)
        list.sortKeys = [.by(\.text, named: "text")]
        try await list.load(policy: .revalidate)
        #expect(list.map(\.text) == ["Alpha", "Old", "Zulu"])
        let sorted = self.list(program)
        sorted.sortKeys = [.by(\.text, named: "text")]
        try await sorted.load()
        #expect(sorted.allModels.count == 3 && sorted.map(\.text) == ["Alpha", "Old", "Zulu"])
        #expect(sorted[0] === list[0])
        try await program.drain(Note.self)
        #expect(api.notes.count == 3 && list.allModels.count == 3)
        #expect(list.allSatisfy { !$0.isNew && !$0.hasQueuedSaves } && !list.core.isDirty && !sorted.core.isDirty)
        try await list.load(policy: .revalidate)
        #expect(list.map(\.text) == ["Alpha", "Old", "Zulu"])
    }

    @Test func `a list that is loaded after the answer shows a new object once`() async throws {
        try await queueNewNotes("Alpha")
        let program = try api.start()
        try await program.replay()
        let list = list(program)
        try await list.load()
        #expect(list.map(\.text) == ["Old", "Alpha"] && list[1].serverID == 8 && !list.core.isDirty)
    }

    @Test func `a list shows a new object once after another context has collected its answer`() async throws {
        try await queueNewNotes("Alpha")
        let (one, other) = (try api.start(), try api.start())
        let (first, second) = (list(one), list(other))
        try await first.load()
        try await second.load()
        #expect(second.map(\.text) == ["Old", "Alpha"] && second[1].isNew)
        try await one.drain(Note.self)
        try await second.load(policy: .revalidate)
        #expect(second.map(\.text) == ["Old", "Alpha"] && second[1].serverID == 8 && !second[1].hasQueuedSaves)
    }

    @Test(arguments: [false, true])
    func `the results of a search show a waiting new object only if filters decide on it`(
        _ hasFilter: Bool
    ) async throws {
        try await queueNewNotes("Alpha", "Zulu")
        let program = try api.start()
        let list = list(program, Request("notes", parameters: ["q": "l"]))
        if hasFilter { list.filters["l"] = Filter { $0.text.contains("l") && $0.text != "Zulu" } }
        try await list.load()
        #expect(list.map(\.text) == (hasFilter ? ["Old", "Alpha"] : ["Old"]))
    }

    @Test func `a new object of a refused call stays in its list, with the failure`() async throws {
        try await queueNewNotes("Alpha")
        let program = try api.start()
        api.answerOnce(StubAPI.Answer(422))
        try await program.replay()
        #expect(try await program.context.collectSaves(of: Note.self).count == 1)
        let list = list(program)
        try await list.load()
        #expect(list.map(\.text) == ["Old", "Alpha"] && list[1].isNew && !list[1].hasQueuedSaves)
        #expect(list[1].saveState.isSame(as: .failed(CancellationError())))
        try await list[1].destroy()
        try await list.load(policy: .revalidate)
        #expect(list.map(\.text) == ["Old"])
    }

    @Test func `a new object is an unsaved change of its list until its call is answered`() async throws {
        let program = try api.start()
        let list = list(program)
        try await list.load()
        api.isOnline = false
        let note = Note()
        note.text = "Alpha"
        try await list.create(note, .queued)
        #expect(list.core.hasChangedMembers)
        api.isOnline = true
        try await program.drain(Note.self)
        #expect(!list.core.hasChangedMembers && list.map(\.serverID) == [7])
    }
}

private struct WrongState: Error {
    let state: SaveState

    init(_ state: SaveState) { self.state = state }
}

/// A model that contains notes.
private final class Board: Model {
    static let note = Property(\Board.note, "note")
    static let notes = Property(\Board.notes, "notes")

    private var _note = Note()

    var note: Note {
        get { read(Self.note, from: _note) }
        set { write(Self.note, from: _note, to: newValue) { _note = $0 } }
    }

    let notes = ModelCollection<Note>()

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _note = visitor.visit(Self.note, with: _note)
        visitor.visit(Self.notes, with: notes)
    }
}
