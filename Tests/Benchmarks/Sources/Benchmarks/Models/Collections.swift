import CPeers
import Diamond
import DiamondModel
import Foundation

extension Benchmark {
    static let collections =
        sized(
            "collection-insert",
            method: "one insertion with its change set in a collection of %, sorted by key path and filtered",
            unit: "us", limits: (10, 14), measure: Collections.insertion)
        + sized(
            "collection-move",
            method: "one move with its change set in a collection of %, sorted by key path and filtered",
            unit: "us", limits: (12, 16), measure: Collections.move)
        + sized(
            "collection-sections", method: "dividing % of an observed collection into sections by key path",
            unit: "ms", limits: (100, 1500), measure: Collections.sectioning)
        + [
            Benchmark(
                name: "collection-changes",
                method:
                    "22,000 changes among 100,000 rows with their change set, to Heckel's difference of two arrays",
                unit: "x Heckel",
                target: .atMost(1.2),
                measure: { try Collections.changes() }
            ),
            Benchmark(
                name: "collection-sort",
                method: "setting a sort key by key path of an observed collection of 100,000 rows",
                unit: "ms",
                target: .atMost(250),
                measure: { try Collections.sorting() }
            ),
            Benchmark(
                name: "collection-set-again",
                method: "setting the text of 100,000 objects again in an observed, sorted collection, to decoding it",
                unit: "x decode",
                target: .atMost(1),
                measure: { try Collections.settingAgain() }
            ),
            Benchmark(
                name: "collection-memory",
                method: "allocated memory for each of 10,000 decoded rows of ten properties in a sorted collection",
                unit: "bytes",
                target: .atMost(1024),
                measure: { try Collections.memory() }
            ),
        ]

    /// Returns a benchmark of 100,000 rows and one of a million.
    private static func sized(
        _ name: String, method: String, unit: String, limits: (Double, Double),
        measure: @escaping @Sendable (Int) throws -> Double
    ) -> [Benchmark] {
        [(100_000, "", "100,000 rows", limits.0), (1_000_000, "-1m", "a million rows", limits.1)].map { size in
            Benchmark(
                name: name + size.1, method: method.replacing("%", with: size.2), unit: unit, target: .atMost(size.3),
                isLong: size.0 > 100_000, measure: { try measure(size.0) })
        }
    }
}

/// The figures of collections, in one thread.
enum Collections {
    static func insertion(into count: Int) throws -> Double {
        let rows = try sorted(count)
        var insertions = 0
        let token = rows.observe { insertions += $0.insertions.count }
        let new = try (0..<2000).map { try Row.make(count + $0) }
        let time = try Models.seconds { for row in new { try rows.add(row) } }
        precondition(insertions == 2000)
        token.cancel()
        return time / 2000 * 1e6
    }

    static func move(among count: Int) throws -> Double {
        let rows = try sorted(count)
        var moves = 0
        let token = rows.observe { moves += $0.moves.count }
        let time = try Models.seconds {
            for step in 1...2000 { try rows.move(from: step * 7919 % count, to: step * 6007 % count) }
        }
        precondition(moves == 2000)
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
            let new = try (0..<10_000).map { try Row.make(200_000 + $0) }
            var count = 0
            let token = rows.observe { count += $0.insertions.count + $0.deletions.count }
            let ours = try Models.seconds {
                try rows.transaction {
                    for row in removed { rows.remove(row) }
                    for (offset, row) in new.enumerated() { try rows.insert(row, at: 50_000 + offset) }
                    for step in 0..<2000 { try rows.move(from: step, to: (step * 7919) % 2000) }
                }
            }
            precondition(count == 20_000)
            token.cancel()
            let after = rows.allModels
            ratios.append(ours / Models.seconds { precondition(Heckel.difference(before, after) > 20_000) })
        }
        return ratios.min() ?? .infinity
    }

    static func sectioning(of count: Int) throws -> Double {
        let rows = try collection(of: count)
        let token = rows.observe { _ in }
        let time = Models.seconds { rows.sectionRule = .by(\.group) }
        precondition(rows.sections.count == 26)
        token.cancel()
        return time * 1e3
    }

    static func sorting() throws -> Double {
        let rows = try collection(of: 100_000)
        let token = rows.observe { _ in }
        let time = Models.seconds { rows.sortKeys = [.by(\.name, order: .reverse, named: "name")] }
        precondition(rows.count == 100_000)
        token.cancel()
        return time * 1e3
    }

    static func settingAgain() throws -> Double {
        let text = try Record.text(0..<100_000)
        let rows = ModelCollection<Row>(context: ModelContext())
        rows.sortKeys = [.by(\.name, named: "name")]
        let token = rows.observe { _ in }
        try rows.set(text)
        let decoding = try Models.best(of: 3) { _ = try Models.decoded(text) }
        let again = try Models.best(of: 3) { try rows.set(text) }
        precondition(rows.count == 100_000)
        token.cancel()
        return again / decoding
    }

    static func memory() throws -> Double {
        let text = try Record.text(0..<10_000)
        let rows = ModelCollection<Row>(context: ModelContext())
        rows.sortKeys = [.by(\.name, named: "name")]
        let before = allocated_bytes()
        try rows.set(text)
        return Double(allocated_bytes() - before) / 10_000
    }

    private static func sorted(_ count: Int) throws -> ModelCollection<Row> {
        let rows = try collection(of: count)
        rows.sortKeys = [.by(\.name, named: "name")]
        rows.filters["rank"] = Filter { $0.rank >= 0 }
        return rows
    }

    private static func collection(of count: Int) throws -> ModelCollection<Row> {
        let rows = ModelCollection<Row>()
        try rows.set((0..<count).map(Row.make))
        return rows
    }
}
