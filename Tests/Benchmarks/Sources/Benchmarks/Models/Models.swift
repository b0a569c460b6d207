import Diamond
import DiamondModel
import Foundation
import Observation

extension Benchmark {
    static let models = [
        Benchmark(
            name: "collection-insert",
            method:
                "one insertion with its change set in a collection of 100,000 rows, sorted by key path and filtered",
            unit: "us",
            target: .atMost(10),
            measure: { try Models.insertion() }
        ),
        Benchmark(
            name: "collection-changes",
            method:
                "22,000 changes among 100,000 rows with their change set, to Heckel's difference of both arrays of models",
            unit: "x Heckel",
            target: .atMost(1.2),
            measure: { try Models.changes() }
        ),
        Benchmark(
            name: "model-set",
            method: "setting a tracked property, to setting one of an @Observable class",
            unit: "x @Observable",
            target: .atMost(1.5),
            measure: { Models.sets() }
        ),
        Benchmark(
            name: "model-decode",
            method: "decoding 10,000 objects of five properties, to synthesized Codable structs of JSONDecoder",
            unit: "x Codable",
            target: .atMost(1.2),
            measure: { try Models.decoding() }
        ),
        Benchmark(
            name: "collection-sort",
            method: "setting a sort key of an observed collection of 100,000 rows",
            unit: "ms",
            target: .atMost(250),
            measure: { try Models.sorting() }
        ),
        Benchmark(
            name: "collection-set-again",
            method: "setting the text of 10,000 objects again, to setting it the first time",
            unit: "x first",
            target: .atMost(1),
            measure: { try Models.settingAgain() }
        ),
        Benchmark(
            name: "collection-sections",
            method: "dividing 80,000 rows of an observed collection into sections by key path",
            unit: "ms",
            target: .atMost(100),
            measure: { try Models.sectioning() }
        ),
    ]
}

/// The figures of models and collections, each the best of several runs in one thread.
enum Models {
    static func insertion() throws -> Double {
        let rows = try collection(of: 100_000)
        rows.sortKeys = [.by(\.rank, named: "rank")]
        rows.filters["rank"] = Filter { $0.rank >= 0 }
        var insertions = 0
        let token = rows.observe { insertions += $0.insertions.count }
        let new = (0..<2000).map { Row.make(200_000 + $0, rank: $0 * 7919 % 100_000) }
        let time = try seconds { for row in new { try rows.add(row) } }
        precondition(insertions == 2000)
        token.cancel()
        return time / 2000 * 1e6
    }

    /// 10,000 removals, 10,000 insertions and 2,000 moves, as in DifferenceKit's own benchmark.
    static func changes() throws -> Double {
        var ratios: [Double] = []
        for _ in 0..<5 {
            let rows = try collection(of: 100_000)
            rows.resetLimit = .max
            let before = rows.allModels
            let removed = rows.allModels[40_000..<50_000].map { $0 }
            let new = (0..<10_000).map { Row.make(200_000 + $0, rank: 0) }
            var count = 0
            let token = rows.observe { count += $0.insertions.count + $0.deletions.count }
            let ours = try seconds {
                try rows.transaction {
                    for row in removed { rows.remove(row) }
                    for (offset, row) in new.enumerated() { try rows.insert(row, at: 50_000 + offset) }
                    for step in 0..<2000 { try rows.move(from: step, to: (step * 7919) % 2000) }
                }
            }
            precondition(count == 20_000)
            token.cancel()
            let after = rows.allModels
            ratios.append(ours / seconds { precondition(Heckel.difference(before, after) > 20_000) })
        }
        return ratios.min() ?? .infinity
    }

    static func sets() -> Double {
        let row = Row()
        let plain = Plain()
        return best { for value in 0..<200_000 { row.rank = value } }
            / best { for value in 0..<200_000 { plain.rank = value } }
    }

    static func decoding() throws -> Double {
        let text = try JSONEncoder().encode((0..<10_000).map(Record.init))
        let ours = try best { check(try decoded(text).count) }
        let peer = try best { check(try JSONDecoder().decode([Record].self, from: text).count) }
        func check(_ count: Int) { precondition(count == 10_000) }
        return ours / peer
    }

    private static func decoded(_ text: Data) throws -> [Row] {
        guard case .array(let values) = try JSONValue(reading: text) else { return [] }
        return try values.map { try Row(json: $0) }
    }

    static func sectioning() throws -> Double {
        let rows = try collection(of: 80_000)
        let token = rows.observe { _ in }
        let time = seconds { rows.sectionRule = .by(\.group) }
        precondition(rows.sections.count == 26)
        token.cancel()
        return time * 1e3
    }

    static func sorting() throws -> Double {
        let rows = try collection(of: 100_000)
        let token = rows.observe { _ in }
        let time = seconds { rows.sortKeys = [.by(\.name, order: .reverse, named: "name")] }
        precondition(rows.count == 100_000)
        token.cancel()
        return time * 1e3
    }

    static func settingAgain() throws -> Double {
        let text = try JSONEncoder().encode((0..<10_000).map(Record.init))
        let rows = ModelCollection<Row>(context: ModelContext())
        rows.sortKeys = [.by(\.name, named: "name")]
        let token = rows.observe { _ in }
        let first = try seconds { try rows.set(text) }
        let again = try best { try rows.set(text) }
        precondition(rows.count == 10_000)
        token.cancel()
        return again / first
    }

    private static func collection(of count: Int) throws -> ModelCollection<Row> {
        let rows = ModelCollection<Row>()
        try rows.set((0..<count).map { Row.make($0, rank: $0) })
        return rows
    }

    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    private static func best(_ body: () throws -> Void) rethrows -> Double {
        var best = Double.infinity
        for _ in 0..<15 { best = try min(best, seconds(body)) }
        return best
    }
}

/// The difference of two arrays by Heckel's algorithm, as table libraries compute it.
enum Heckel {
    private struct Symbol {
        var old: Int?
        var new: Int?
    }

    /// The number of deletions, insertions, moves and updates.
    static func difference(_ old: [Row], _ new: [Row]) -> Int {
        var symbols: [Int: Symbol] = [:]
        symbols.reserveCapacity(old.count)
        for (index, row) in old.enumerated() { symbols[row.id] = Symbol(old: index) }
        for (index, row) in new.enumerated() { symbols[row.id, default: Symbol()].new = index }
        var deletedBefore = [Int](repeating: 0, count: old.count)
        var deletions: [Int] = []
        for (index, row) in old.enumerated() {
            deletedBefore[index] = deletions.count
            if symbols[row.id]?.new == nil { deletions.append(index) }
        }
        var insertions: [Int] = []
        var moves: [(Int, Int)] = []
        var updates: [Int] = []
        for (index, row) in new.enumerated() {
            guard let place = symbols[row.id]?.old else { insertions.append(index); continue }
            if place - deletedBefore[place] + insertions.count != index { moves.append((place, index)) }
            if old[place].rank != row.rank || old[place].name != row.name { updates.append(index) }
        }
        return deletions.count + insertions.count + moves.count + updates.count
    }
}

@Observable
private final class Plain {
    var rank = 0
}

private struct Record: Codable {
    let id: Int
    let name: String
    let group: String
    let rank: Int
    let isOpen: Bool

    init(_ id: Int) {
        self.id = id
        name = "The name of object \(id)"
        group = "group"
        rank = id
        isOpen = true
    }
}

/// A model of five properties.
final class Row: Model {
    static let id = Property(\Row.id, "id", access: .server)
    static let name = Property(\Row.name, "name")
    static let group = Property(\Row.group, "group")
    static let rank = Property(\Row.rank, "rank")
    static let isOpen = Property(\Row.isOpen, "isOpen")

    private var _id = 0
    private var _name = ""
    private var _group = ""
    private var _rank = 0
    private var _isOpen = false

    var id: Int { read(Self.id, from: _id) }

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var group: String {
        get { read(Self.group, from: _group) }
        set { write(Self.group, from: _group, to: newValue) { _group = $0 } }
    }

    var rank: Int {
        get { read(Self.rank, from: _rank) }
        set { write(Self.rank, from: _rank, to: newValue) { _rank = $0 } }
    }

    var isOpen: Bool {
        get { read(Self.isOpen, from: _isOpen) }
        set { write(Self.isOpen, from: _isOpen, to: newValue) { _isOpen = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _name = visitor.visit(Self.name, with: _name)
        _group = visitor.visit(Self.group, with: _group)
        _rank = visitor.visit(Self.rank, with: _rank)
        _isOpen = visitor.visit(Self.isOpen, with: _isOpen)
    }

    static func make(_ id: Int, rank: Int) -> Row {
        let group = String(UnicodeScalar(UInt8(97 + id % 26)))
        let json: Diamond.JSONValue = [
            "id": .integer(Int64(id)), "rank": .integer(Int64(rank)), "group": .string(group),
        ]
        do { return try Row(json: json) } catch { preconditionFailure("\(error)") }
    }
}
