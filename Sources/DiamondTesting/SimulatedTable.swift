public import DiamondTable

/// The data source of a simulated table.
package protocol SimulatedTableSource: AnyObject {
    var counts: [Int] { get }
    func cell(at path: RowPath) -> SimulatedTable.Cell
}

/// A simulation of `UITableView` and `UICollectionView` that checks batches as these do.
///
/// It compares its cells with the counts of its source before and after each batch. ``problem`` names the first
/// operation that UIKit would refuse.
///
/// ```swift
/// let table = SimulatedTable(TableSource([.collection(cities)]))
/// try cities.add(kyoto)
/// #expect(table.problem == nil)
/// ```
public final class SimulatedTable {
    /// A displayed cell.
    public struct Cell: Hashable {
        /// The identity of the row that the cell represents.
        public var id: AnyHashable
        /// The content that the cell was configured with.
        public var content: AnyHashable
        /// The state that the cell was configured with.
        public var state: RowState = []

        package init(id: AnyHashable, content: AnyHashable, state: RowState = []) {
            self.id = id
            self.content = content
            self.state = state
        }
    }

    /// The displayed cells, by section.
    public internal(set) var shown: [[Cell]] = []
    /// The controller of the table. Its source can be replaced.
    public let controller: TableController
    /// Whether the table is in a window. `true` by default.
    public var isOnScreen = true
    /// The number of batches that were performed.
    package internal(set) var batches = 0
    /// The number of reloads.
    package internal(set) var reloads = 0
    /// The number of rows that were configured again.
    package internal(set) var reconfigurations = 0
    /// The operations that the table has refused, each with its reason.
    package internal(set) var failures: [String] = []
    /// The last state that the table received.
    package internal(set) var presentation: Presentation?
    /// The last state of the next page that the table received.
    package internal(set) var more: NextPageState?
    /// The number of rows on screen, beginning with the first. 20 by default.
    public var rowsOnScreen = 20
    /// Whether a next page is available and was not requested yet.
    var needsMore = false
    /// Whether the editing controls are shown.
    package internal(set) var isEditing = false

    let content: (Any) -> AnyHashable
    package internal(set) var isBusy = false

    /// Creates a table that shows a source.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - content: Returns the content of the cell for a model or value. `nil`, the default, for the model's JSON or
    ///     the value.
    public init(_ source: TableSource, content: ((Any) -> AnyHashable)? = nil) {
        controller = TableController(source)
        self.content = content ?? Self.content
        controller.display = self
    }

    /// Creates a table without a source, for calling ``performBatchUpdates(_:source:update:)`` directly.
    package convenience init() { self.init(TableSource([])) }

    package func reload(from source: some SimulatedTableSource) {
        shown = source.counts.enumerated().map { section, count in
            (0..<count).map { source.cell(at: RowPath(section: section, row: $0)) }
        }
    }

    /// Performs a batch. The source must return the old counts before `update` is called, and the new counts after it.
    package func performBatchUpdates(
        _ batch: TableBatch, source: some SimulatedTableSource, update: () throws -> Void
    ) throws {
        guard source.counts == shown.map(\.count) else {
            throw InvalidBatch(
                "the source answers \(source.counts) before the batch, the table shows \(shown.map(\.count))")
        }
        try update()
        let layout = try Layout(batch, old: shown.map(\.count), new: source.counts)
        let before = shown
        shown = try layout.surviving.enumerated().map { section, old in
            guard let old else {
                return (0..<source.counts[section]).map { source.cell(at: RowPath(section: section, row: $0)) }
            }
            return try rows(of: section, from: old, in: before, batch: batch, source: source)
        }
        guard source.counts == shown.map(\.count) else {
            throw InvalidBatch("the source returns other counts after the batch")
        }
    }

    private func rows(
        of section: Int, from old: Int, in before: [[Cell]], batch: TableBatch, source: some SimulatedTableSource
    ) throws -> [Cell] {
        let gone = Set((batch.deletions + batch.moves.map(\.from)).filter { $0.section == old }.map(\.row))
        let staying = before[old].indices.filter { !gone.contains($0) }.map { before[old][$0] }
        let arriving =
            batch.insertions.filter { $0.section == section }.count
            + batch.moves.filter { $0.to.section == section }.count
        guard staying.count + arriving == source.counts[section] else {
            throw InvalidBatch(
                "section \(section): \(staying.count) rows stay and \(arriving) come, not \(source.counts)")
        }
        var cells = [Cell?](repeating: nil, count: source.counts[section])
        for path in batch.insertions where path.section == section { cells[path.row] = source.cell(at: path) }
        // A cell that moves keeps its content.
        for move in batch.moves where move.to.section == section {
            cells[move.to.row] = before[move.from.section][move.from.row]
        }
        var rest = staying.makeIterator()
        return cells.compactMap { $0 ?? rest.next() }
    }

    /// Configures rows again, after the batch. The table and the source must have the same row at each path.
    package func configure(_ paths: [RowPath], source: some SimulatedTableSource) throws {
        guard source.counts == shown.map(\.count) else {
            throw InvalidBatch("the source answers \(source.counts), the table shows \(shown.map(\.count))")
        }
        for path in paths {
            guard shown.indices.contains(path.section), shown[path.section].indices.contains(path.row) else {
                throw InvalidBatch("the update of \(path) is for no row")
            }
            let cell = source.cell(at: path)
            guard cell.id == shown[path.section][path.row].id else {
                throw InvalidBatch("the update of \(path) names \(cell), and the table shows another row there")
            }
            shown[path.section][path.row] = cell
        }
    }

    /// The sections before and after a batch. Checks all operations against them.
    private struct Layout {
        /// The old index of each section after the batch; `nil` for an inserted one.
        let surviving: [Int?]

        init(_ batch: TableBatch, old: [Int], new: [Int]) throws {
            let deleted = Set(batch.deletedSections)
            let inserted = Set(batch.insertedSections)
            guard deleted.count == batch.deletedSections.count, inserted.count == batch.insertedSections.count,
                deleted.allSatisfy(old.indices.contains), inserted.allSatisfy(new.indices.contains)
            else { throw InvalidBatch("a section twice, or out of range") }
            guard old.count - deleted.count + inserted.count == new.count else {
                throw InvalidBatch("\(old.count) - \(deleted.count) + \(inserted.count) sections are not \(new.count)")
            }
            var rest = old.indices.filter { !deleted.contains($0) }.makeIterator()
            surviving = new.indices.map { inserted.contains($0) ? nil : rest.next() }
            try check(batch.deletions + batch.moves.map(\.from), in: old) { !deleted.contains($0) }
            try check(batch.insertions + batch.moves.map(\.to), in: new) { !inserted.contains($0) }
        }

        private func check(_ paths: [RowPath], in counts: [Int], stays: (Int) -> Bool) throws {
            guard Set(paths).count == paths.count else { throw InvalidBatch("two operations on one row: \(paths)") }
            for path in paths {
                guard counts.indices.contains(path.section), stays(path.section),
                    (0..<counts[path.section]).contains(path.row)
                else { throw InvalidBatch("\(path) is out of range, or in a section that does not stay") }
            }
        }
    }
}

@available(*, unavailable)
extension SimulatedTable: Sendable {}

@available(*, unavailable)
extension SimulatedTable.Cell: Sendable {}

extension SimulatedTable.Cell: CustomStringConvertible {
    public var description: String { "\(content.base)\(state == [] ? "" : " \(state)") (\(id.base))" }
}

/// A reason to refuse a batch.
package struct InvalidBatch: Error, CustomStringConvertible {
    package let description: String

    package init(_ reason: String) { description = reason }
}
