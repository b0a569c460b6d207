import Diamond
import DiamondModel
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@Suite("Sort keys in nested models that rows share") struct SharedKeysTests {
    private let context = ModelContext()
    private let list: ModelCollection<Story>

    init() { list = ModelCollection(context: context) }

    private static func json(_ id: Int, _ title: String, by author: Int, _ name: String) -> JSONValue {
        [
            "id": JSONValue(id), "title": .string(title), "likes": 0,
            "author": ["id": JSONValue(author), "name": .string(name), "age": 0],
        ]
    }

    private func changes(of body: () throws -> Void) rethrows -> [ChangeSet<Story>] {
        var changes: [ChangeSet<Story>] = []
        let token = list.observe { changes.append($0) }
        try body()
        token.cancel()
        return changes
    }

    private var titles: [String] { list.map(\.title) }

    @Test func `all rows of an author leave before one of them enters`() throws {
        list.sortKeys = [.by(\.author.name, named: "author"), .by(\.title, named: "title")]
        try list.set([Self.json(1, "a", by: 1, "a"), Self.json(2, "b", by: 2, "b"), Self.json(3, "c", by: 1, "a")])
        #expect(titles == ["a", "c", "b"])
        let changes = changes { list[0].author.name = "z" }
        #expect(titles == ["b", "a", "c"])
        #expect(changes.count == 1 && changes[0].moves.map(\.from.row) == [2] && changes[0].updates.count == 2)
    }

    @Test(arguments: ["setter", "transaction", "merge", "upsert", "set"])
    func `many rows of few authors stay sorted`(way: String) throws {
        list.sortKeys = [.by(\.author.name, named: "author"), .by(\.title, order: .reverse, named: "title")]
        let rows = (1...300).map { Self.json($0, "\($0)", by: $0 % 3, "\($0 % 3)") }
        try list.upsert(.array(rows))
        list.resetLimit = 10_000
        let author = list[0].author
        let changes = try changes {
            switch way {
            case "setter": author.name = "9"
            case "transaction": author.transaction { author.name = "9" }
            case "merge": try author.merge(["name": "9"])
            case "upsert": try list.upsert([Self.json(301, "301", by: 0, "9")])
            default: try list.set(.array(rows + [Self.json(301, "301", by: 0, "9")]))
            }
        }
        let sorted = list.allModels.sorted { ($0.author.name, $1.title) < ($1.author.name, $0.title) }
        #expect(list.elementsEqual(sorted, by: ===))
        #expect(changes.count == 1 && changes[0].updates.count == 100)
        #expect(changes[0].insertions.count == list.count - 300)
    }

    @Test func `a transaction of one row that changes another leaves both in order`() throws {
        list.sortKeys = [.by(\.title, named: "title")]
        try list.set(.array(["a", "b", "c", "d", "e"].enumerated().map { Self.json($0, $1, by: 1, "") }))
        let (first, second) = (list[1], list[3])
        let changes = changes {
            first.transaction {
                first.title = "y"
                second.title = "bb"
            }
        }
        #expect(titles == ["a", "bb", "c", "e", "y"])
        #expect(changes.count == 1 && changes[0].moves.count == 2 && changes[0].updates.count == 2)
    }

    @Test func `a model that is added while a row's change is not reported finds its place`() throws {
        list.sortKeys = [.by(\.title, named: "title")]
        try list.set(.array(["b", "d", "f"].enumerated().map { Self.json($0, $1, by: 1, "") }))
        let row = list[1]
        let new = Story()
        new.title = "e"
        row.transaction {
            row.title = "z"
            _ = try? list.add(new)
            row.title = "a"
        }
        #expect(titles == ["a", "b", "e", "f"])
    }

    @Test(arguments: ["title", "author", "label", "comparator", "closure"])
    func `a row that was placed by index stays until the value of its sort key changes`(key: String) throws {
        let sort: SortKey<Story> =
            switch key {
            case "title": .by(\.title, named: key)
            case "author": .by(\.author.name, named: key)
            case "label": .by(\.label, named: key)
            case "comparator": SortKey(key, comparator: KeyPathComparator(\.title))
            default: SortKey(key) { $0.title < $1.title ? .orderedAscending : .orderedDescending }
            }
        list.sortKeys = [sort]
        try list.set(.array(["a", "b", "c"].enumerated().map { Self.json($0, $1, by: $0, $1) }))
        try list.move(from: 0, to: 2)
        let row = list[2]
        #expect(row.title == "a")
        // A closure may read anything.
        if key != "closure" {
            row.likes = 1
            row.author.age = 1
            #expect(titles == ["b", "c", "a"])
        }
        row.transaction {
            row.title = "aa"
            row.author.name = "aa"
        }
        #expect(titles == ["aa", "b", "c"])
    }

    @Test func `a sequence of changes follows inherited, nested, computed and nullable values`() async throws {
        try list.set([Self.json(1, "a", by: 1, "a")])
        let story = list[0]
        var titles = story.changes(\.title).makeAsyncIterator()
        var names = story.changes(\.author.name).makeAsyncIterator()
        var labels = story.changes(\.label).makeAsyncIterator()
        var notes = story.changes(\.note).makeAsyncIterator()
        var authors = story.changes(\.author).makeAsyncIterator()
        let (old, new) = (story.author, Writer())
        story.likes = 1
        story.title = "b"
        story.author.name = "c"
        story.note = "d"
        story.title = "\u{E9}"
        story.title = "e\u{301}"
        story.author = new
        #expect(await titles.next(isolation: #isolation) == ValueChange(old: "a", new: "b"))
        #expect(await titles.next(isolation: #isolation) == ValueChange(old: "b", new: "\u{E9}"))
        #expect(await titles.next(isolation: #isolation).map { Array($0.new.unicodeScalars).count } == 2)
        #expect(await names.next(isolation: #isolation) == ValueChange(old: "a", new: "c"))
        #expect(await names.next(isolation: #isolation) == ValueChange(old: "c", new: ""))
        #expect(await labels.next(isolation: #isolation) == ValueChange(old: "a a", new: "a b"))
        #expect(await labels.next(isolation: #isolation) == ValueChange(old: "a b", new: "c b"))
        #expect(await notes.next(isolation: #isolation) == ValueChange(old: nil, new: "d"))
        let change = await authors.next(isolation: #isolation)
        #expect(change?.old === old && change?.new === new)
    }

    @Test func `the rows that remain of a shared model's follow it`() throws {
        var random = SplitMix(state: Effort.seed)
        list.sortKeys = [.by(\.author.name, named: "author"), .by(\.title, named: "title")]
        try list.set(.array((0..<200).map { Self.json($0, "\($0 + 100)", by: $0 % 2, "\($0 % 2)") }))
        let author = list[0].author
        for round in 0..<20 {
            for _ in 0..<8 { try list.remove(at: random.below(list.count)) }
            try list.upsert([Self.json(1000 + round, "\(1000 + round)", by: 0, author.name)])
            author.name = round % 2 == 0 ? "2" : "0"
            let rows = list.filter { $0.author === author }
            let isSorted = zip(list, list.dropFirst()).allSatisfy { first, second in
                (first.author.name, first.title) < (second.author.name, second.title)
            }
            #expect(isSorted && rows.count > round / 2, "seed \(Effort.seed), round \(round)")
        }
    }

    @Test func `a list takes equal content again without a change set`() throws {
        list.sortKeys = [.by(\.title, named: "title")]
        let rows: JSONValue = .array((0..<50).map { Self.json($0, "\(99 - $0)", by: $0 % 3, "a") })
        try list.set(rows)
        let models = list.models
        let generation = list.generation
        #expect(try changes { try list.set(rows) }.isEmpty)
        #expect(list.elementsEqual(models, by: ===) && list.generation == generation && !list.isEmpty)
        try list.move(from: 0, to: 5)
        try list.set(rows)
        #expect(list.elementsEqual(models, by: ===))
    }

    // MARK: Random changes

    @Test(arguments: [false, true], SharedKeysGame.Order.allCases)
    func `a table follows changes of models that rows share`(isSectioned: Bool, order: SharedKeysGame.Order) throws {
        var random = SplitMix(state: Effort.seed)
        for round in 0..<Effort.rounds(6, soaking: 4000) {
            let game = try SharedKeysGame(order, isSectioned: isSectioned, size: round % 6 == 5 ? 300 : 12, &random)
            for turn in 0..<25 {
                let change = try game.turn(&random)
                #expect(
                    game.problem == nil, "seed \(Effort.seed), round \(round), turn \(turn): \(change)")
                if game.problem != nil { return }
            }
        }
    }
}
