import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Foundation
import Observation
import Testing

/// Values that are derived from several properties, from the state of the sync, or from the position in a list.
@ModelActor
@Suite("The observation of derived values", .limit(minutes: 5)) struct DerivedObservationTests {
    /// Returns whether a change is reported to an observer of a value.
    private func isNoticed<Value: Equatable>(
        _ read: () -> Value, _ change: () async throws -> Void
    ) async rethrows -> Bool {
        let isNotified = Guarded(false)
        let old = withObservationTracking(read) { isNotified.withLock { $0 = true } }
        try await change()
        let isNoticed = isNotified.withLock { $0 }
        #expect(isNoticed == (read() != old))
        return isNoticed
    }

    /// A value of a note.
    private struct Derived {
        let name: String
        let read: (Note) -> AnyHashable

        init(_ name: String, _ read: @escaping (Note) -> AnyHashable) {
            self.name = name
            self.read = read
        }

        static var all: [Derived] {
            [
                Derived("json") { $0.json },
                Derived("changedJSON") { $0.changedJSON },
                Derived("jsonText") { try? $0.jsonText() },
                Derived("snapshot") { $0.snapshot },
                Derived("key") { $0["text"] },
                Derived("violations") { $0.violations },
                Derived("validate") { note in (try? note.validate()) == nil },
                Derived("isDirty") { $0.isDirty(Note.text) },
                Derived("dirtyProperties") { $0.dirtyProperties.map(\.key) },
                Derived("repairs") { $0.repairs },
                Derived("serverID") { $0.serverID },
                Derived("modelID") { $0.modelID },
            ]
        }

        static func named(_ name: String) -> Derived? { all.first { $0.name == name } }
    }

    private func note(_ json: JSONValue) throws -> Note { try Note(json: json) }

    @Test(
        arguments: [
            "json", "changedJSON", "jsonText", "snapshot", "key", "violations", "validate", "isDirty",
            "dirtyProperties",
        ], [false, true])
    func `a view that shows a derived value is updated by a setter`(name: String, isObserved: Bool) async throws {
        let derived = try #require(Derived.named(name))
        let note = try note(["id": 1, "text": "milk", "stars": 1])
        let token = isObserved ? note.observe { _ in } : nil
        #expect(await isNoticed({ derived.read(note) }) { note.text = "" })
        withExtendedLifetime(token) {}
    }

    @Test(arguments: ["json", "snapshot", "key", "repairs"])
    func `a view that shows a derived value is updated by a merge`(name: String) async throws {
        let derived = try #require(Derived.named(name))
        let note = try note(["id": 1, "stars": 1])
        #expect(try await isNoticed({ derived.read(note) }) { try note.merge(["text": "bread"]) })
    }

    @Test(arguments: ["changedJSON", "isDirty", "dirtyProperties"])
    func `a view that shows what is unsaved is updated when one of two changes is saved`(name: String) async throws {
        let derived = try #require(Derived.named(name))
        let note = try note(["id": 1, "text": "milk", "stars": 1])
        note.text = "bread"
        note.stars = 2
        // The values stay.
        #expect(try await isNoticed({ derived.read(note) }) { try note.merge(["text": "bread"]) })
        #expect(note.isDirty && note.text == "bread")
        note.text = "tea"
        #expect(await isNoticed({ derived.read(note) }) { note.rollback(Note.text) })
        note.text = "tea"
        #expect(await isNoticed({ derived.read(note) }) { note.markSynced() })
    }

    @Test(arguments: ["serverID", "modelID"])
    func `a view that shows an id is updated when the server assigns it`(name: String) async throws {
        let derived = try #require(Derived.named(name))
        let note = Note()
        #expect(try await isNoticed({ derived.read(note) }) { try note.merge(["id": 7]) })
        #expect(try await isNoticed({ derived.read(note) }) { try note.merge(["id": 8]) })
    }

    @Test func `views are updated by members without a property, a confirmed repair and a rejected value`() async throws
    {
        let note = try note(["id": 1, "stars": 1])
        #expect(try await isNoticed({ note.json }) { try note.merge(["color": "red"]) })
        #expect(await isNoticed({ note.repairs }) { note.text = "" })
        #expect(await isNoticed({ note.changedJSON }) { note.text = "a" })
        let wallet = try Wallet(json: ["id": 1, "limit": 1])
        #expect(await isNoticed({ wallet.rejections }) { wallet["limit"] = 0 })
        #expect(await isNoticed({ wallet.rejections }) { wallet["limit"] = 2 })
    }

    @Test func `a view that shows the JSON of an object is updated by its nested objects`() async throws {
        let city = try City(json: ["id": 1, "mayor": ["id": 2, "name": "Sato"], "districts": [["id": 3]]])
        #expect(await isNoticed({ city.json }) { city.mayor.name = "Tanaka" })
        #expect(await isNoticed({ city.changedJSON }) { city.districts[0].name = "Naka" })
        #expect(try await isNoticed({ city.json }) { try city.districts.remove(at: 0) })
        #expect(await isNoticed({ city["mayor"] }) { city.mayor.name = "Sato" })
    }

    @Test func `a merge of equal JSON updates no view`() async throws {
        let note = try note(["id": 1, "text": "milk", "stars": 1])
        for read in Derived.all.map(\.read) {
            #expect(try await !isNoticed({ read(note) }) { try note.merge(["id": 1, "text": "milk"]) })
        }
    }

    // MARK: Collections

    @Test func `a view that shows the rejected elements or the JSON of a collection is updated`() async throws {
        let notes = ModelCollection<Note>(context: ModelContext())
        #expect(try await isNoticed({ notes.rejected }) { try notes.upsert([5]) })
        #expect(try await isNoticed({ notes.json }) { try notes.upsert(["a"]) })
        #expect(try await isNoticed({ notes.rejected.count }) { try notes.set([] as JSONValue) })
        #expect(try await isNoticed({ notes.json }) { try notes.upsert([["id": 1, "text": "milk"]]) })
        #expect(await isNoticed({ notes.json }) { notes[0].text = "bread" })
        #expect(await isNoticed({ notes.generation }) { notes.removeAll() })
    }

    @Test func `a view that shows whether there is more is updated by an empty last page`() async throws {
        let api = StubAPI { call in
            let isFirst = call.path.contains("page=1")
            return StubAPI.Answer(200, isFirst ? ["items": [["id": 1, "text": "a"]], "total": 2] : ["items": []])
        }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        #expect(
            await isNoticed({ notes.source == nil }) {
                notes.source = PageSource(
                    api.engine, Request("notes"), paging: .page(size: 1),
                    format: PageFormat(items: "items", total: "total"))
            })
        #expect(try await isNoticed({ notes.hasMore }) { try await notes.load() })
        #expect(notes.hasMore && notes.total == 2)
        let old = notes.position
        #expect(try await isNoticed({ [notes.hasMore, notes.needsMore(showing: 0)] }) { try await notes.next() })
        #expect(!notes.hasMore && notes.position != old)
        #expect(try await isNoticed({ notes.position }) { try await notes.load(policy: .reload) })
        #expect(await isNoticed({ notes.deleted.count }) { notes.delete(notes[0]) })
        #expect(await isNoticed({ notes.total }) { notes.source = nil })
    }

    @Test func `a view that shows a presentation is updated when the presenter gets another model`() async throws {
        let presenter = LoadPresenter()
        #expect(await isNoticed({ presenter.presentation }) { presenter.model = ModelCollection<Note>() })
    }
}
