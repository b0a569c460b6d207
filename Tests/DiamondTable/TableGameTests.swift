import DiamondModel
import DiamondTable
import DiamondTestSupport
import DiamondTesting
import Testing

/// Random changes, gestures and exchanges through the public interface, each performed by a table that refuses what
/// UIKit refuses.
@Suite("A table of several parts under random changes") struct TableGameTests {
    @Test(arguments: [false, true])
    func `a table of several parts follows every change`(reenters: Bool) {
        var random = SplitMix(state: Effort.seed)
        for number in 0..<Effort.rounds(60, soaking: 6000) {
            let game = TableGame(SplitMix(state: random.next()), reenters: reenters)
            for _ in 0..<20 where game.problem == nil { game.turn() }
            game.end()
            #expect(game.problem == nil, "seed \(Effort.seed), game \(number): \(game.history.suffix(8))")
            if game.problem != nil { return }
        }
    }
}

/// Two collections, a contact, and a table over parts made of them.
private final class TableGame {
    private let sectioned = ModelCollection<Item>()
    private let flat = ModelCollection<Item>()
    private let contact = Contact.make()
    private var random: SplitMix
    private var nextID = 1000
    private var live: [() -> [[String]]] = []
    private var table: SimulatedTable?
    private var tokens: [ObserverToken] = []
    /// The number of changes that may still come from within changes.
    private var budget = 0
    private(set) var history: [String] = []
    private(set) var problem: String?

    init(_ random: SplitMix, reenters: Bool) {
        self.random = random
        sectioned.sectionRule = rule
        flat.filters["rank"] = Filter { $0.rank > 2 }
        for _ in 0..<6 {
            _ = try? sectioned.add(make())
            _ = try? flat.add(make())
        }
        table = SimulatedTable(makeSource()) { [unowned self] object in
            if reenters { interfere(oneIn: 40) }
            return SimulatedTable.content(object)
        }
        if reenters {
            tokens = [sectioned, flat].map { $0.observe { [unowned self] _ in interfere(oneIn: 6) } }
            tokens.append(contact.observe { [unowned self] _ in interfere(oneIn: 6) })
        }
    }

    private var rule: SectionRule<Item> {
        var rule = SectionRule<Item>.by(\.group)
        if below(2) == 0 { rule.permanentKeys = ["b", "e"] }
        rule.title = { [name = below(2)] in "\(name) \($0)" }
        return rule
    }

    private func below(_ bound: Int) -> Int { random.below(bound) }

    private func make() -> Item {
        nextID += 1
        return Item.make(nextID, rank: below(10), group: ["a", "b", "c", "d"][below(4)])
    }

    /// A source of some parts in any order, some of them twice.
    private func makeSource() -> TableSource {
        let editing = RowEditing<Item>(
            canMove: { $0.id % 5 > 0 },
            changeSection: { item, key in
                if item.id % 7 > 0 { item.group = key }
                return item.id % 3 > 0
            })
        live = []
        let parts = (0..<(2 + below(4))).map { _ -> TablePart in
            switch below(4) {
            case 0:
                live.append { [sectioned] in Self.labels(sectioned) }
                return .collection(sectioned, editing: editing)
            case 1:
                live.append { [flat] in Self.labels(flat) }
                return .collection(flat, header: "Flat", editing: RowEditing())
            case 2:
                live.append { [contact] in [Self.labels(contact)] }
                return .fields(of: contact, Contact.fields)
            default:
                live.append { [["static"]] }
                return .rows(["static"])
            }
        }
        return TableSource(parts)
    }

    private static func labels(_ items: ModelCollection<Item>) -> [[String]] {
        items.sections.map { items[$0.indices].map(label) }
    }

    private static func labels(_ contact: Contact) -> [String] {
        [contact.name] + (contact.nickname.map { [$0] } ?? []) + contact.phones + [label(contact.employer)]
            + contact.addresses.map(label)
    }

    // MARK: Turns

    func turn() {
        budget = 5
        if below(4) == 0 {
            sectioned.transaction { flat.transaction { for _ in 0..<(1 + below(4)) { change() } } }
        } else {
            change()
        }
        check()
    }

    /// Ends what holds changes back.
    func end() {
        table?.isOnScreen = true
        table?.controller.isSuspended = false
        check()
    }

    private func interfere(oneIn few: Int) {
        guard budget > 0, below(few) == 0 else { return }
        budget -= 1
        change()
    }

    private func change() {
        switch below(12) {
        case 0...3: change(below(2) == 0 ? sectioned : flat)
        case 4...6: changeContact()
        case 7...9: gesture()
        case 10: note("on screen", below(3) > 0) { table?.isOnScreen = $0 }
        default: changeTable()
        }
    }

    private func note<Value>(_ text: String, _ value: Value, _ body: (Value) -> Void) {
        history.append("\(text) \(value)")
        body(value)
    }

    private func changeTable() {
        switch below(3) {
        case 0: note("suspended", below(3) == 0) { table?.controller.isSuspended = $0 }
        case 1:
            history.append("exchange")
            table?.controller.source = makeSource()
        default: note("editing", below(2) == 0) { table?.controller.isEditing = $0 }
        }
    }

    private func change(_ items: ModelCollection<Item>) {
        let name = items === flat ? "flat" : "sectioned"
        let index = items.isEmpty ? 0 : below(items.count)
        note(name, below(12)) { operation in
            switch operation {
            case 0...1: _ = try? items.add(make())
            case 2: _ = try? items.insert(make(), at: below(items.count + 1))
            case 3 where !items.isEmpty: _ = try? items.remove(at: index)
            case 4 where !items.isEmpty: try? items.move(from: index, to: below(items.count))
            case 5 where !items.isEmpty: items[index].version += 1
            case 6 where !items.isEmpty: items[index].rank = below(10)
            case 7 where !items.isEmpty: items[index].group = ["a", "b", "c", "d"][below(4)]
            case 8: items.filters["rank"] = below(2) == 0 ? nil : Filter { [rank = below(6)] in $0.rank > rank }
            case 9: items.sortKeys = below(2) == 0 ? [] : [.by(\.rank, named: "rank")]
            case 10: items.sectionRule = below(3) == 0 ? nil : rule
            case 11: try? items.set((items.allModels.filter { _ in below(4) > 0 } + [make()]).shuffled(using: &random))
            default: break
            }
        }
    }

    private func changeContact() {
        note("contact", below(7)) { operation in
            switch operation {
            case 0: contact.name = "name \(below(3))"
            case 1: contact.nickname = below(2) == 0 ? nil : "nick"
            case 2: contact.phones = (0..<below(4)).map { _ in "\(below(4))" }
            case 3: contact.employer = make()
            case 4: contact.employer.version += 1
            case 5: _ = try? contact.addresses.insert(make(), at: below(contact.addresses.count + 1))
            default:
                if let item = contact.addresses.first { item.version += 1 }
                if below(2) == 0 { _ = contact.addresses.popFirst() }
            }
        }
    }

    // MARK: Gestures

    private func gesture() {
        guard let table, let path = randomPath() else { return }
        switch below(5) {
        case 0...1:
            guard let target = randomPath(), !table.isBusy else { return }
            note("drag \(path)", target) { table.drag(from: path, to: $0) }
        case 2 where !table.isBusy: note("swipe", path) { table.swipeToDelete($0) }
        case 3: note("remove", path) { table.controller.source.remove(at: $0) }
        default: note("select", path) { table.controller.source.select($0) }
        }
    }

    /// The path of a row, or one past the end of a section.
    private func randomPath() -> RowPath? {
        guard let source = table?.controller.source, source.numberOfSections > 0 else { return nil }
        let section = below(source.numberOfSections)
        return RowPath(section: section, row: below(source.numberOfRows(in: section) + 1))
    }

    // MARK: Checking

    private func check() {
        guard let table, problem == nil else { return }
        budget = 0
        problem = table.problem
        if problem != nil || table.controller.isSuspended { return }
        for section in sectioned.sections where sectioned.sectionRule != nil && !sectioned[section.indices].isEmpty {
            let path = table.controller.source.path(of: sectioned[section.indices.lowerBound])
            guard let path, table.controller.source.title(of: path.section) != section.title else { continue }
            problem = "section \(path.section) has another title than \(section.title)"
        }
        let expected = live.flatMap { $0() }
        let actual = table.controller.source.labels
        if actual != expected { problem = "the source answers \(actual), not \(expected)" }
    }
}
