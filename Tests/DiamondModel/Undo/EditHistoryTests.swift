import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Observation
import Testing

@ModelActor
@Suite("The history of edits") struct EditHistoryTests {
    private let context = ModelContext()
    private let history = EditHistory()

    private func cities(_ names: String...) throws -> ModelCollection<City> {
        let cities = ModelCollection<City>(context: context)
        try cities.set(
            .array(names.enumerated().map { ["id": .integer(Int64($0.offset + 1)), "name": .string($0.element)] }))
        return cities
    }

    @Test func `each edit of a model is a step, which is undone and redone`() throws {
        let city = try City(json: ["id": 1, "name": "Nara", "population": 1])
        history.record(city)
        city.name = "Kobe"
        city.population = 2
        #expect(history.canUndo && !history.canRedo)
        #expect(history.undo() && city.population == 1 && city.name == "Kobe")
        #expect(history.undo() && city.name == "Nara" && !city.isDirty)
        #expect(!history.undo() && !history.canUndo && history.canRedo)
        #expect(history.redo() && city.name == "Kobe" && city.changedJSON == ["name": "Kobe"])
        #expect(history.redo() && city.population == 2 && !history.redo() && !history.canRedo)
    }

    @Test func `a transaction is one step, with its nested models, and is undone in one event`() throws {
        let city = try City(json: ["id": 1, "name": "Nara", "mayor": ["name": "Sato"]])
        history.record(city)
        city.transaction {
            city.name = "Kobe"
            city.mayor.name = "Tanaka"
        }
        var events = 0
        let token = city.observe { _ in events += 1 }
        #expect(history.undo() && city.name == "Nara" && city.mayor.name == "Sato" && events == 1)
        #expect(!history.canUndo)
        #expect(history.redo() && city.name == "Kobe" && city.mayor.name == "Tanaka")
        _ = token
    }

    @Test func `a new edit ends the steps that could be redone`() throws {
        let city = try City(json: ["id": 1, "name": "Nara"])
        history.record(city)
        city.name = "Kobe"
        history.undo()
        city.name = "Otsu"
        #expect(!history.canRedo && history.undo() && city.name == "Nara")
    }

    @Test func `values of the server and rollbacks are no steps`() throws {
        let city = try City(json: ["id": 1, "name": "Nara"])
        history.record(city)
        try city.merge(["name": "Kobe"])
        city.markSynced()
        #expect(!history.canUndo)
        city.name = "Otsu"
        city.rollback()
        // The step has no effect any more.
        #expect(!history.undo() && city.name == "Kobe")
    }

    @Test func `adding, removing and moving rows is undone to the exact places`() throws {
        let cities = try cities("A", "B", "C", "D")
        history.record(cities)
        let removed = try cities.remove(at: 1)
        try cities.move(from: 2, to: 0)
        let draft = City()
        draft.name = "E"
        try cities.insert(draft, at: 1)
        try cities.swapAt(0, 3)
        let names = ["C", "E", "A", "D"]
        #expect(cities.map(\.name) == names)
        var steps = [cities.map(\.name)]
        while history.undo() { steps.append(cities.map(\.name)) }
        #expect(
            steps == [
                names, ["D", "E", "A", "C"], ["D", "A", "C"], ["A", "C", "D"], ["A", "B", "C", "D"],
            ])
        #expect(cities[1] === removed)
        while history.redo() {}
        #expect(cities.map(\.name) == names && cities[1] === draft)
    }

    @Test func `a transaction of a collection is one step, with the values of its models`() throws {
        let cities = try cities("A", "B", "C")
        history.record(cities)
        try cities.transaction {
            cities[0].name = "X"
            try cities.remove(at: 1)
            try cities.move(from: 1, to: 0)
        }
        #expect(cities.map(\.name) == ["C", "X"])
        #expect(history.undo() && cities.map(\.name) == ["A", "B", "C"] && !history.canUndo)
        #expect(history.redo() && cities.map(\.name) == ["C", "X"] && !history.canRedo)
    }

    @Test func `a transaction of the history is one step of several objects`() throws {
        let cities = try cities("A", "B")
        let other = try City(json: ["id": 9, "name": "Z"])
        history.record(cities)
        history.record(other)
        try history.transaction {
            cities[0].name = "X"
            other.name = "Y"
            try cities.remove(at: 1)
        }
        #expect(history.undo() && cities.map(\.name) == ["A", "B"] && other.name == "Z" && !history.canUndo)
        #expect(history.redo() && cities.map(\.name) == ["X"] && other.name == "Y")
    }

    @Test func `rows in a sorted and filtered collection are undone`() throws {
        let cities = try cities("A", "B", "C")
        cities.sortKeys = [.by(\.name, named: "name")]
        cities.filters["short"] = Filter { $0.name.count < 3 }
        history.record(cities)
        cities[0].name = "Z"
        cities[0].name = "hidden"
        let hidden = try #require(cities[id: 2])
        cities.remove(hidden)
        #expect(cities.map(\.name) == ["C", "Z"])
        #expect(history.undo() && cities.allModels.contains { $0 === hidden } && cities.map(\.name) == ["C", "Z"])
        #expect(history.undo() && cities.map(\.name) == ["B", "C", "Z"])
        #expect(history.undo() && cities.map(\.name) == ["A", "B", "C"])
    }

    @Test func `edits in nested collections are steps, of recorded models and of rows`() throws {
        let cities = try cities("A")
        try cities[0].merge(["districts": [["id": 5, "name": "Gion"], ["id": 6, "name": "Ohara"]]])
        let city = cities[0]
        for history in [history, EditHistory()] {
            if history === self.history { history.record(cities) } else { history.record(city) }
            city.districts[0].name = "X"
            try city.transaction {
                city.name = "B"
                try city.districts.remove(at: 1)
            }
            #expect(city.districts.map(\.name) == ["X"])
            #expect(history.undo() && city.name == "A" && city.districts.map(\.name) == ["X", "Ohara"])
            #expect(history.undo() && city.districts.map(\.name) == ["Gion", "Ohara"] && !history.canUndo)
            while history.redo() {}
            #expect(city.name == "B" && city.districts.map(\.name) == ["X"])
            while history.undo() {}
        }
    }

    @Test func `JSON that a collection reads is no step, and an object that was destroyed does not come back`()
        async throws
    {
        let api = StubAPI { call in .init(call.method == "DELETE" ? 204 : 200, call.method == "GET" ? [] : nil) }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        history.record(notes)
        try notes.upsert([["id": 1, "text": "a"], ["id": 2, "text": "b"]])
        try notes.set([["id": 2, "text": "c"], ["id": 3, "text": "d"]])
        #expect(!history.canUndo)
        try await notes[0].destroy()
        #expect(!history.undo() && notes.map(\.text) == ["d"])
        let note = notes[0]
        notes.delete(note)
        #expect(history.undo() && notes.map(\.text) == ["d"] && notes.deleted.isEmpty)
    }

    @Test func `a rollback of the members of a nested collection is no step, and keeps those to redo`() throws {
        let city = try City(json: ["id": 1, "name": "A", "districts": [["id": 5, "name": "Gion"]]])
        try city.districts.add(District())
        history.record(city)
        city.name = "B"
        history.undo()
        city.rollback()
        #expect(city.districts.map(\.name) == ["Gion"] && !history.canUndo && history.canRedo)
    }

    @Test func `a deletion that is redone is sent, and one that is undone is not`() async throws {
        let methods = Guarded<[String]>([])
        let api = StubAPI { call in
            methods.withLock { $0.append(call.method) }
            return .init(call.method == "DELETE" ? 204 : 200, call.method == "GET" ? [] : nil)
        }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        try notes.set([["id": 1, "text": "a"], ["id": 2, "text": "b"]])
        history.record(notes)
        let note = notes[0]
        notes.delete(note)
        #expect(history.undo() && notes.deleted.isEmpty)
        try await notes.upload()
        #expect(methods.withLock { $0 } == [])
        #expect(history.redo() && notes.deleted == [note] && notes.count == 1)
        try await notes.upload()
        #expect(methods.withLock { $0 } == ["DELETE"])
        #expect(!history.undo() && notes.count == 1)
    }

    @Test func `an undeleted object that is removed by an undo is not deleted on the server`() throws {
        let notes = ModelCollection<Note>(context: context)
        try notes.set([["id": 1, "text": "a"]])
        history.record(notes)
        let note = notes[0]
        notes.delete(note)
        notes.undelete(note)
        #expect(history.undo() && notes.isEmpty && notes.deleted.isEmpty)
    }

    @Test func `an object that was removed and then destroyed does not come back`() async throws {
        let api = StubAPI { _ in .init(204) }
        let notes = ModelCollection<Note>(context: ModelContext(engine: api.engine))
        try notes.set([["id": 1, "text": "a"]])
        history.record(notes)
        let note = notes[0]
        notes.remove(note)
        try await note.destroy()
        #expect(!history.undo() && notes.isEmpty)
    }

    @Test func `the value of a nested model that was replaced then is restored in that model`() throws {
        let story = try Story(json: ["id": 1, "author": ["name": "Ann"]])
        let author = story.author
        let other = Writer()
        other.name = "Bob"
        history.record(story)
        story.transaction {
            author.name = "x"
            story.author = other
            other.name = "y"
        }
        #expect(history.undo() && story.author === author && author.name == "Ann" && other.name == "Bob")
        #expect(history.redo() && story.author === other && author.name == "x" && other.name == "y")
    }

    @Test func `a step of very many objects is undone`() throws {
        let cities = ModelCollection<City>(context: context)
        try cities.set(.array((1...20_000).map { ["id": .integer($0), "name": "a"] }))
        history.record(cities)
        cities.transaction { for city in cities { city.name = "b" } }
        #expect(history.undo() && cities.allSatisfy { $0.name == "a" } && !history.canUndo)
    }

    @Test func `members that the server has are no unsaved ones after an undo`() throws {
        let city = try City(json: ["id": 1, "districts": [["id": 5], ["id": 6]]])
        history.record(city)
        try city.districts.add(District())
        try city.districts.remove(at: 0)
        try city.districts.move(from: 1, to: 0)
        for _ in 0..<2 {
            while city.isDirty, history.undo() {}
            #expect(!city.isDirty && !history.canUndo)
            while history.redo() { #expect(city.isDirty) }
        }
    }

    @Test func `each edit of a filtered row is a step`() throws {
        let cities = try cities("A", "B")
        cities.filters["none"] = Filter { _ in false }
        history.record(cities)
        let city = cities.allModels[0]
        city.name = "X"
        city.name = "Y"
        #expect(history.undo() && city.name == "X" && history.undo() && city.name == "A")
    }

    @Test func `the number of steps is limited, and the oldest are forgotten`() throws {
        let history = EditHistory(limit: 2)
        let city = try City(json: ["id": 1, "name": "A"])
        history.record(city)
        for name in ["B", "C", "D"] { city.name = name }
        while history.undo() {}
        #expect(city.name == "B")
        history.removeAll()
        #expect(!history.canRedo)
    }

    @Test func `whether there is a step can be observed`() throws {
        let city = try City(json: ["id": 1, "name": "A"])
        history.record(city)
        let changes = Guarded(0)
        withObservationTracking {
            _ = history.canUndo
        } onChange: {
            changes.withLock { $0 += 1 }
        }
        city.name = "B"
        #expect(changes.withLock { $0 } == 1 && history.canUndo)
    }

    @Test func `a row that was the last one is the last one again after moves are undone`() throws {
        let cities = try cities("A", "B")
        let last = City()
        last.name = "C"
        try cities.insert(last, at: 1)
        try cities.move(from: 2, to: 1)
        history.record(cities)
        try cities.remove(at: 2)
        try cities.move(from: 1, to: 0)
        #expect(history.undo() && cities.map(\.name) == ["A", "B"])
        #expect(history.undo() && cities.map(\.name) == ["A", "B", "C"])
    }

    @Test func `values that were set in the transaction that added or removed the row are undone and redone`() throws {
        let cities = try cities("A", "B", "C")
        history.record(cities)
        let draft = City()
        draft.name = "D"
        let (first, second, third) = (cities[0], cities[1], cities[2])
        try cities.transaction {
            try cities.add(draft)
            draft.name = "X"
            draft.mayor.name = "Sato"
            first.name = "Y"
            cities.remove(first)
            cities.remove(second)
            second.name = "Z"
        }
        third.transaction {
            third.name = "W"
            cities.remove(third)
        }
        for _ in 0..<2 {
            #expect(history.undo() && cities.map(\.name) == ["C", "X"])
            #expect(history.undo() && cities.map(\.name) == ["A", "B", "C"] && !history.canUndo)
            #expect(draft.name == "D" && draft.mayor.name == "")
            #expect(history.redo() && cities.map(\.name) == ["C", "X"] && draft.mayor.name == "Sato")
            #expect(first.name == "Y" && second.name == "Z")
            #expect(history.redo() && cities.map(\.name) == ["X"] && third.name == "W" && !history.canRedo)
        }
    }

    @Test func `random edits are undone and redone step by step`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(50, soaking: 2_000) {
            let cities = ModelCollection<City>()
            if Bool.random(using: &random) { cities.sortKeys = [.by(\.name, named: "name")] }
            let history = EditHistory()
            history.record(cities)
            var states = [state(of: cities)]
            for _ in 0..<20 {
                try cities.transaction {
                    for _ in 0..<Int.random(in: 1...3, using: &random) { try edit(cities, &random) }
                }
                if history.canUndo, state(of: cities) != states.last { states.append(state(of: cities)) }
            }
            for expected in states.dropLast().reversed() {
                while state(of: cities) != expected, history.undo() {}
                #expect(state(of: cities) == expected, "seed \(Effort.seed)")
            }
            for expected in states.dropFirst() {
                while state(of: cities) != expected, history.redo() {}
                #expect(state(of: cities) == expected, "seed \(Effort.seed)")
            }
        }
    }

    private func state(of cities: ModelCollection<City>) -> [String] {
        cities.map(\.name) + ["|"] + cities.allModels.map { "\($0.name) \($0.mayor.name) \($0.localID)" }
    }

    private func edit(_ cities: ModelCollection<City>, _ random: inout SplitMix) throws {
        let name = "\(Int.random(in: 0..<100, using: &random))"
        let count = cities.count
        switch Int.random(in: 0..<6, using: &random) {
        case 0 where count > 0: cities[Int.random(in: 0..<count, using: &random)].name = name
        case 1 where count > 0: cities[Int.random(in: 0..<count, using: &random)].mayor.name = name
        case 2 where count > 0: try cities.remove(at: Int.random(in: 0..<count, using: &random))
        case 3 where count > 1 && cities.sortKeys.isEmpty:
            try cities.move(
                from: Int.random(in: 0..<count, using: &random), to: Int.random(in: 0..<count, using: &random))
        default:
            let city = City()
            city.name = name
            if cities.sortKeys.isEmpty {
                try cities.insert(city, at: Int.random(in: 0...count, using: &random))
            } else {
                try cities.add(city)
            }
        }
    }
}
