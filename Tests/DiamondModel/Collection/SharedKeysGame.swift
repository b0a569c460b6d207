import Diamond
import DiamondModel
import DiamondTestSupport
import DiamondTesting
import Foundation

/// A list of stories by shared authors, a table that performs its change sets, and plain arrays as the reference.
final class SharedKeysGame {
    enum Order: CaseIterable, Sendable {
        case author
        case authorAndTitle
        case title
        case label
        case closure
        case none
    }

    private struct Row {
        var title: String
        var author: Int
    }

    private let context = ModelContext()
    private let list: ModelCollection<Story>
    /// Another list of the same models.
    private let other: ModelCollection<Story>
    private let tables: [CollectionTable<Story>]
    private let order: Order
    private let isSectioned: Bool

    // The reference.
    private var names: [Int: String] = [:]
    private var rows: [Int: Row] = [:]
    private var insertions: [Int] = []
    private var smallest: String?
    private var nextID = 1

    private(set) var problem: String?

    init(_ order: Order, isSectioned: Bool, size: Int, _ random: inout SplitMix) throws {
        self.order = order
        self.isSectioned = isSectioned
        list = ModelCollection(context: context)
        other = ModelCollection(context: context)
        tables = [list, other].map { list in
            list.resetLimit = 100_000
            return CollectionTable(list) { Cell(id: AnyHashable($0.modelID), content: AnyHashable($0.label)) }
        }
        list.sortKeys = Self.keys(order)
        other.sortKeys = [.by(\.label, order: .reverse, named: "label")]
        if isSectioned { list.sectionRule = .by(\.author.name) }
        for id in 1...4 { names[id] = Self.name(&random) }
        try upsert(size, &random)
    }

    private static func keys(_ order: Order) -> [SortKey<Story>] {
        switch order {
        case .author: [.by(\.author.name, named: "author")]
        case .authorAndTitle: [.by(\.author.name, order: .reverse, named: "author"), .by(\.title, named: "title")]
        case .title: [SortKey("title", comparator: KeyPathComparator(\.title))]
        case .label: [.by(\.label, named: "label")]
        case .closure:
            [
                SortKey("author") { left, right in
                    let (left, right) = (left.author.name, right.author.name)
                    return left == right ? .orderedSame : left < right ? .orderedAscending : .orderedDescending
                }
            ]
        case .none: []
        }
    }

    private static func name(_ random: inout SplitMix) -> String { ["a", "b", "c", "d", "e"][random.below(5)] }

    // MARK: Changes

    /// Makes a random change, compares the results, and returns the change's description.
    func turn(_ random: inout SplitMix) throws -> String {
        let change: String
        switch random.below(12) {
        case 0...1: change = rename(&random)
        case 2: change = changeInTransaction(&random)
        case 3: change = changeTwoAuthors(&random)
        case 4: change = changeInListTransaction(&random)
        case 5...6: change = try upsert(1 + random.below(6), &random)
        case 7: change = try setAll(&random)
        case 8: change = moveToAuthor(&random)
        case 9: change = filter(&random)
        case 10: change = try remove(&random)
        default: change = try mergeAuthor(&random)
        }
        check()
        return change
    }

    private func anyStory(_ random: inout SplitMix) -> Story? {
        if insertions.isEmpty { return nil }
        return list[id: ModelID(insertions[random.below(insertions.count)])]
    }

    private func number(_ model: Model) -> Int { Int(model.modelID.description) ?? 0 }

    private func setTitle(of story: Story, _ random: inout SplitMix) {
        let title = Self.name(&random)
        rows[number(story)]?.title = title
        story.title = title
    }

    private func setName(of author: Writer, _ random: inout SplitMix) {
        let name = Self.name(&random)
        names[number(author)] = name
        author.name = name
    }

    private func rename(_ random: inout SplitMix) -> String {
        if let author = anyStory(&random)?.author { setName(of: author, &random) }
        return "an author is renamed"
    }

    private func changeInTransaction(_ random: inout SplitMix) -> String {
        let stories = (0..<3).compactMap { _ in anyStory(&random) }
        stories.first?.transaction {
            for story in stories {
                setTitle(of: story, &random)
                if random.below(3) == 0 { setName(of: story.author, &random) }
            }
        }
        return "a story changes others in its transaction"
    }

    private func changeTwoAuthors(_ random: inout SplitMix) -> String {
        guard let first = anyStory(&random), let second = anyStory(&random) else { return "nothing" }
        first.author.transaction {
            setName(of: first.author, &random)
            setTitle(of: second, &random)
            setName(of: second.author, &random)
            second.transaction { setName(of: first.author, &random) }
        }
        return "an author changes another in its transaction"
    }

    private func changeInListTransaction(_ random: inout SplitMix) -> String {
        list.transaction {
            for _ in 0..<3 {
                guard let story = anyStory(&random) else { return }
                setTitle(of: story, &random)
                setName(of: story.author, &random)
            }
        }
        return "the list changes stories in its transaction"
    }

    private func moveToAuthor(_ random: inout SplitMix) -> String {
        guard let story = anyStory(&random), let other = anyStory(&random) else { return "nothing" }
        rows[number(story)]?.author = number(other.author)
        story.author = other.author
        return "a story gets another's author"
    }

    private func mergeAuthor(_ random: inout SplitMix) throws -> String {
        guard let author = anyStory(&random)?.author else { return "nothing" }
        let name = Self.name(&random)
        names[number(author)] = name
        try author.merge(["name": .string(name)])
        return "an author is merged"
    }

    private func filter(_ random: inout SplitMix) -> String {
        smallest = smallest == nil ? Self.name(&random) : nil
        list.filters["author"] = smallest.map { smallest in Filter { $0.author.name >= smallest } }
        return "a filter is toggled"
    }

    private func remove(_ random: inout SplitMix) throws -> String {
        // Without its last story, an author would be released.
        guard insertions.count > 8, let story = anyStory(&random) else { return "nothing" }
        insertions.removeAll { $0 == number(story) }
        list.remove(story)
        other.remove(story)
        return "a story is removed"
    }

    /// Returns the JSON of a story with new values.
    private func json(_ id: Int, _ random: inout SplitMix) -> JSONValue {
        let row = Row(title: Self.name(&random), author: 1 + random.below(4))
        rows[id] = row
        if random.below(4) == 0 { names[row.author] = Self.name(&random) }
        return [
            "id": JSONValue(id), "title": .string(row.title),
            "author": ["id": JSONValue(row.author), "name": .string(names[row.author] ?? "")],
        ]
    }

    @discardableResult
    private func upsert(_ count: Int, _ random: inout SplitMix) throws -> String {
        var ids: [Int] = []
        for _ in 0..<count {
            if random.below(2) == 0, !insertions.isEmpty {
                ids.append(insertions[random.below(insertions.count)])
            } else {
                ids.append(nextID)
                nextID += 1
            }
        }
        ids = ids.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        let page = ids.map { json($0, &random) }
        insertions += ids.filter { !insertions.contains($0) }
        try list.upsert(.array(page))
        for story in list.allModels { try other.add(story) }
        return "a page of \(count) arrives"
    }

    private func setAll(_ random: inout SplitMix) throws -> String {
        var ids = insertions.filter { _ in random.below(5) > 0 } + [nextID]
        nextID += 1
        ids.shuffle(using: &random)
        let page = ids.map { id in
            guard let row = rows[id], random.below(2) == 0 else { return json(id, &random) }
            let author: JSONValue = ["id": JSONValue(row.author), "name": .string(names[row.author] ?? "")]
            return ["id": JSONValue(id), "title": .string(row.title), "author": author]
        }
        insertions = ids
        // The last name in the page counts.
        for element in page {
            guard case .object(let story) = element, case .object(let author)? = story["author"],
                case .integer(let id)? = author["id"], case .string(let name)? = author["name"]
            else { continue }
            names[Int(id)] = name
        }
        try list.set(.array(page))
        try other.set(list.allModels)
        return "the list is replaced"
    }

    // MARK: Checking

    private func name(_ id: Int) -> String { rows[id].flatMap { names[$0.author] } ?? "" }

    private func label(_ id: Int) -> String { "\(name(id)) \(rows[id]?.title ?? "")" }

    /// Returns the ids in their order: by the sort keys, then by insertion.
    private func sorted(_ ids: [Int], by precedes: (Int, Int) -> Bool) -> [Int] {
        ids.enumerated().sorted { left, right in
            if precedes(left.element, right.element) { return true }
            if precedes(right.element, left.element) { return false }
            return left.offset < right.offset
        }.map(\.element)
    }

    private var expected: [Int] {
        let visible = insertions.filter { id in smallest.map { name(id) >= $0 } ?? true }
        let ids = sorted(visible) { left, right in
            switch order {
            case .author, .closure: name(left) < name(right)
            case .authorAndTitle:
                name(left) != name(right)
                    ? name(left) > name(right) : (rows[left]?.title ?? "") < (rows[right]?.title ?? "")
            case .title: (rows[left]?.title ?? "") < (rows[right]?.title ?? "")
            case .label: label(left) < label(right)
            case .none: false
            }
        }
        return isSectioned ? sorted(ids) { name($0) < name($1) } : ids
    }

    private func check() {
        let shown = [expected, sorted(insertions) { label($0) > label($1) }]
        for ((collection, table), ids) in zip(zip([list, other], tables), shown) {
            if let failure = table.failure { problem = failure; return }
            if collection.map(number) != ids { problem = "the rows are \(collection.map(number)), not \(ids)"; return }
            let cells = ids.map { Cell(id: AnyHashable(ModelID($0)), content: AnyHashable(label($0))) }
            if table.table.shown.flatMap({ $0 }) != cells { problem = "the table shows \(table.table.shown)"; return }
        }
    }
}
