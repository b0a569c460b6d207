import DiamondTable
import DiamondTestSupport
import DiamondTesting
import Testing

@testable import DiamondModel

@Suite("The plan of a batch") struct BatchPlanTests {
    @Test func `a plan brings a table to any other state, in one legal batch`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(1500, soaking: 60_000) {
            let scene = Scene(&random)
            #expect(try scene.play(scene.batch) == scene.expected, "seed \(Effort.seed)")
        }
    }

    @Test(arguments: Mutant.allCases) func `the test table detects each kind of faulty batch`(mutant: Mutant) {
        var random = SplitMix(state: 1)
        let isFound = (0..<2000).contains { _ in
            let scene = Scene(&random)
            return (try? scene.play(mutant.spoil(scene))) != scene.expected
        }
        #expect(isFound)
    }

    @Test func `a section that moves is deleted and inserted, and its rows are not reported`() {
        let plan = BatchPlan(
            oldSections: [1, 1, 1], newSections: [2, 0, 1],
            rows: [.init(old: RowPath(section: 2, row: 0), new: RowPath(section: 0, row: 0), isUpdated: true)])
        #expect(plan.deletedSections == [2])
        #expect(plan.insertedSections == [0])
        #expect(plan.count == 2)
    }

    @Test
    func `a row that leaves a deleted section is an insertion, and one that enters an inserted section a deletion`() {
        let plan = BatchPlan(
            oldSections: [1, 1], newSections: [1, nil],
            rows: [
                .init(old: RowPath(section: 0, row: 0), new: RowPath(section: 0, row: 0)),
                .init(old: RowPath(section: 1, row: 0), new: RowPath(section: 1, row: 0)),
            ])
        #expect(plan.deletedSections == [0])
        #expect(plan.insertedSections == [1])
        #expect(plan.insertions == [RowPath(section: 0, row: 0)])
        #expect(plan.deletions == [RowPath(section: 1, row: 0)])
    }
}

/// Faults that a generator of batches could have.
enum Mutant: CaseIterable {
    case forgetsUpdates
    case deletesInSequence
    case forgetsMovesWithinSections
    case namesRowsOfDeletedSections
    case namesRowsOfInsertedSections
    case keepsDisplacedSections
    case forgetsUpdatesAcrossSections

    fileprivate func spoil(_ scene: Scene) -> Batch {
        var batch = scene.batch
        switch self {
        case .forgetsUpdates: batch.updates = []
        case .deletesInSequence:
            batch.deletions = batch.deletions.map { path in
                let before = batch.deletions.filter { $0.section == path.section && $0.row < path.row }.count
                return RowPath(section: path.section, row: path.row - before)
            }
        case .forgetsMovesWithinSections:
            batch.moves.removeAll { scene.plan.newSection($0.from.section) == $0.to.section }
        case .namesRowsOfDeletedSections:
            batch.deletions += batch.deletedSections.flatMap { section in
                scene.old[section].rows.indices.map { RowPath(section: section, row: $0) }
            }
        case .namesRowsOfInsertedSections:
            batch.insertions += batch.insertedSections.flatMap { section in
                scene.new[section].rows.indices.map { RowPath(section: section, row: $0) }
            }
        case .keepsDisplacedSections:
            let keys = Set(scene.old.map(\.key)).intersection(scene.new.map(\.key))
            batch.deletedSections.removeAll { keys.contains(scene.old[$0].key) }
            batch.insertedSections.removeAll { keys.contains(scene.new[$0].key) }
        case .forgetsUpdatesAcrossSections:
            batch.updates.removeAll { scene.plan.newSection($0.old.section) != $0.new.section }
        }
        return batch
    }
}

/// Two random states of a sectioned table.
private struct Scene {
    struct Section {
        let key: Int
        var rows: [Int]

        var ids: (key: String, rows: [Int]) { ("\(key)", rows) }
    }

    let old: [Section]
    private(set) var new: [Section]
    private var changed: Set<Int> = []
    private(set) var plan = BatchPlan(oldSections: [], newSections: [], rows: [])

    init(_ random: inout SplitMix) {
        var next = 0
        var sections = (0..<random.below(6)).map { key in
            Section(
                key: key,
                rows: (0..<random.below(7)).map { _ in
                    next += 1; return next
                })
        }
        old = sections
        for step in 0..<random.below(11) {
            let section = sections.isEmpty ? nil : random.below(sections.count)
            switch (random.below(9), section) {
            case (0, _):
                let rows = (0..<random.below(5)).map { _ in
                    next += 1; return next
                }
                sections.insert(Section(key: 100 + step, rows: rows), at: random.below(sections.count + 1))
            case (1, let section?): sections.remove(at: section)
            case (2, let section?):
                let moved = sections.remove(at: section)
                sections.insert(moved, at: random.below(sections.count + 1))
            case (3...4, let section?):
                next += 1
                sections[section].rows.insert(next, at: random.below(sections[section].rows.count + 1))
            case (5, let section?) where !sections[section].rows.isEmpty:
                sections[section].rows.remove(at: random.below(sections[section].rows.count))
            case (6...7, let section?) where !sections[section].rows.isEmpty:
                let row = sections[section].rows.remove(at: random.below(sections[section].rows.count))
                let target = random.below(sections.count)
                sections[target].rows.insert(row, at: random.below(sections[target].rows.count + 1))
            case (_, let section?) where !sections[section].rows.isEmpty:
                changed.insert(sections[section].rows[random.below(sections[section].rows.count)])
            default: break
            }
        }
        new = sections
        plan = BatchPlan(from: old.map(\.ids), to: new.map(\.ids), updated: changed)
    }

    var batch: Batch { Batch(plan) }

    var expected: [[Cell]] { new.map { $0.rows.map { Cell(id: $0, version: changed.contains($0) ? 1 : 0) } } }

    /// The cells on show after a batch.
    func play(_ batch: Batch) throws -> [[Cell]] {
        let source = Source(old.map { $0.rows.map { Cell(id: $0, version: 0) } })
        let table = SimulatedTable()
        table.reload(from: source)
        try table.performBatchUpdates(batch, source: source) { source.cells = expected }
        return table.shown
    }

    private final class Source: SimulatedTableSource {
        var cells: [[Cell]]
        init(_ cells: [[Cell]]) { self.cells = cells }
        var counts: [Int] { cells.map(\.count) }
        func cell(at path: RowPath) -> Cell { cells[path.section][path.row] }
    }
}

extension Batch {
    init(_ plan: BatchPlan) {
        self.init(
            deletedSections: plan.deletedSections, insertedSections: plan.insertedSections, deletions: plan.deletions,
            insertions: plan.insertions, moves: plan.moves.map { Move(from: $0.old, to: $0.new) },
            updates: plan.updates.map { Update(old: $0.old, new: $0.new) })
    }
}
