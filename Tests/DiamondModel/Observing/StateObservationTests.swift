import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Observation
import Testing

@testable import DiamondModel

/// `isNew`, `isDirty`, `hasQueuedSaves` and `saveState`, which change without a property.
@ModelActor
@Suite("The observation of states", .limit(minutes: 5)) struct StateObservationTests {
    private let api = QueuedAPI()

    /// Counts how often a value that is read again after each change has changed.
    private final class Tracker: Sendable {
        private let count = Guarded(0)

        var changes: Int { count.withLock { $0 } }

        /// Observes the value until its next change.
        func track(_ read: () -> Void) {
            withObservationTracking(read) { [count] in count.withLock { $0 += 1 } }
        }
    }

    private func tracked(_ read: @escaping () -> Void, _ change: () async throws -> Void) async rethrows -> Bool {
        let tracker = Tracker()
        tracker.track(read)
        try await change()
        return tracker.changes == 1
    }

    @Test func `a list is read without registrars, and the first read of a value is observed`() async throws {
        let notes = ModelCollection<Note>(context: ModelContext())
        try notes.set(Data(#"[{"id":1,"text":"milk"},{"id":2,"text":"bread"}]"#.utf8))
        let note = try #require(notes.allModels.first)
        #expect(notes.allModels.allSatisfy { $0.registrarIfAny == nil })
        #expect(await tracked({ _ = note.text }) { note.text = "eggs" })
        #expect(await tracked({ _ = note.isDirty }) { note.markSynced() })
        #expect(notes.allModels.last?.registrarIfAny == nil)
    }

    @Test func `the rules of a collection read values without registrars`() async throws {
        let notes = ModelCollection<Note>(context: ModelContext())
        notes.sortKeys = [.by(\.text, named: "text")]
        notes.filters["short"] = Filter { $0.text.utf8.count < 10 }
        notes.sectionRule = .initials(of: \.text)
        try notes.set(Data(#"[{"id":1,"text":"milk"},{"id":2,"text":"bread"}]"#.utf8))
        notes.sort()
        let eggs = try Note(json: ["id": 3, "text": "eggs"])
        try notes.insert(eggs, at: 0)
        // First, because the id is observed, too.
        #expect(notes.allModels.allSatisfy { $0.registrarIfAny == nil })
        #expect(notes.map(\.modelID) == [2, 3, 1])
        #expect(await tracked({ _ = eggs.text }) { eggs.text = "zucchini" })
        #expect(notes.map(\.modelID) == [2, 1, 3])
    }

    @Test(arguments: [false, true])
    func `a view that shows the state of a model is updated at each transition`(_ isInCollection: Bool) async throws {
        let program = try api.start()
        let note = Note()
        try program.context.register(note)
        let list = try isInCollection ? ModelCollection([note]) : ModelCollection<Note>()
        #expect(await tracked({ _ = note.isDirty }) { note.text = "milk" })
        #expect(await !tracked({ _ = note.isDirty }) { note.text = "bread" })
        #expect(await tracked({ _ = note.isDirty }) { note.rollback() })
        #expect(try await tracked({ _ = note.isNew }) { try await note.save { $0.text = "milk" } })
        api.isOnline = false
        #expect(try await tracked({ _ = note.hasQueuedSaves }) { try await note.save(.queued) { $0.stars = 1 } })
        #expect(try await !tracked({ _ = note.hasQueuedSaves }) { try await note.save(.queued) { $0.stars = 2 } })
        api.isOnline = true
        try await program.replay()
        let context = program.context
        let reads = [{ _ = note.hasQueuedSaves }, { _ = note.saveState }, { _ = context.waiting }]
        let trackers = reads.map { read in
            let tracker = Tracker()
            tracker.track(read)
            return tracker
        }
        try await context.collectSaves(of: Note.self)
        #expect(trackers.map(\.changes) == [1, 1, 1])
        #expect(!note.hasQueuedSaves && !note.isDirty)
        note.stars = 3
        #expect(await tracked({ _ = note.isDirty }) { note.markSynced() })
        withExtendedLifetime(list) {}
    }

    @Test func `a view that shows whether an object is dirty is updated by its nested objects`() async throws {
        let city = try City(json: ["id": 1, "mayor": ["id": 2, "name": "Sato"], "districts": [["id": 3]]])
        #expect(await tracked({ _ = city.isDirty }) { city.mayor.name = "Tanaka" })
        #expect(await tracked({ _ = city.isDirty }) { city.mayor.markSynced() })
        #expect(await tracked({ _ = city.isDirty }) { city.districts[0].name = "Naka" })
        city.markSynced()
        #expect(!city.isDirty)
        #expect(try await tracked({ _ = city.isDirty }) { try city.districts.remove(at: 0) })
        #expect(await tracked({ _ = city.isDirty }) { city.markSynced() })
    }

    @Test func `a filter that runs when a model is marked as synced may copy the model`() throws {
        let program = try api.start()
        let list = ModelCollection<Note>(context: program.context)
        let note = Note()
        try list.add(note)
        var copies: [Note] = []
        list.filters["clean"] = Filter { model in
            copies.append(model.copy())
            return !model.isDirty
        }
        note.text = "milk"
        copies = []
        note.markSynced()
        #expect(!copies.isEmpty && copies.allSatisfy { $0 !== note && $0.text == "milk" })
        #expect(list.count == 1)
    }

    @Test func `a row moves and is updated when the state of its model changes`() async throws {
        let program = try api.start()
        let list = ModelCollection<Note>(context: program.context)
        list.sortKeys = [
            SortKey("drafts first") { left, right in
                left.isNew == right.isNew ? .orderedSame : left.isNew ? .orderedAscending : .orderedDescending
            }
        ]
        for text in ["a", "b", "c"] {
            let note = Note()
            note.text = text
            try list.add(note)
        }
        var changes: [ChangeSet<Note>] = []
        var events: [ModelEvent] = []
        let token = list.observe { changes.append($0) }
        let models = list.observeModels { events.append($0) }
        try await list[0].save()
        #expect(list.map(\.text) == ["b", "c", "a"])
        #expect(changes.flatMap(\.moves).map(\.to.row) == [2])

        list.filters["unsent"] = Filter { $0.isNew || $0.isDirty || $0.hasQueuedSaves }
        #expect(list.map(\.text) == ["b", "c"])
        try await list[0].save()
        #expect(list.map(\.text) == ["c"])
        api.isOnline = false
        let note = list[0]
        changes = []
        try await note.save(.queued)
        #expect(!changes.flatMap(\.updates).isEmpty && note.hasQueuedSaves)
        api.isOnline = true
        try await program.drain(Note.self)
        #expect(list.isEmpty && list.allModels.count == 3)
        // An event has changes of properties.
        #expect(events.allSatisfy { !$0.changes.isEmpty })
        withExtendedLifetime((token, models)) {}
    }
}
