import Diamond
import DiamondModel
import DiamondTable
import DiamondTestSupport
import DiamondTesting

/// A table of a collection, and its source, which returns the rows of the applied change sets.
final class CollectionTable<Object: Model>: SimulatedTableSource {
    let table = SimulatedTable()
    private var rows: [[Object]] = []
    private(set) var failure: String?
    private(set) var batches = 0
    private(set) var resets = 0
    private var generation: Int
    private var token: ObserverToken?
    private let collection: ModelCollection<Object>
    private let cell: (Object) -> Cell

    init(_ collection: ModelCollection<Object>, cell: @escaping (Object) -> Cell) {
        self.collection = collection
        self.cell = cell
        generation = collection.generation
        reload()
        token = collection.observe { [unowned self] in apply($0) }
    }

    var counts: [Int] { rows.map(\.count) }

    func cell(at path: RowPath) -> Cell { cell(rows[path.section][path.row]) }

    private func reload() {
        rows = collection.sections.map { $0.indices.map { collection[$0] } }
        generation = collection.generation
        table.reload(from: self)
    }

    private func apply(_ changes: ChangeSet<Object>) {
        guard failure == nil, changes.newGeneration > generation else { return }
        if changes.isReset { resets += 1; return reload() }
        guard changes.oldGeneration == generation else { failure = "a change set is missing"; return }
        batches += 1
        let before = ids
        do {
            try table.performBatchUpdates(Batch(changes), source: self) { rows = updated(by: changes) }
            generation = changes.newGeneration
            if changes.newCounts != counts { failure = "the counts are \(counts), not \(changes.newCounts)" }
            compare(changes, before, ids)
        } catch {
            failure = "\(error)"
        }
    }

    private var ids: [[ModelID]] { rows.map { $0.map(\.modelID) } }

    /// Compares a change set with Heckel's difference of the rows before and after it.
    private func compare(_ changes: ChangeSet<Object>, _ old: [[ModelID]], _ new: [[ModelID]]) {
        let inserted = Set(changes.insertedSections.map(\.index))
        let kept = zip(
            old.indices.filter { !changes.deletedSections.contains($0) }, new.indices.filter { !inserted.contains($0) })
        for (before, after) in kept {
            let heckel = Heckel(from: old[before], to: new[after])
            let moves = changes.moves.filter { $0.from.section == before && $0.to.section == after }
            if heckel.applied(to: old[before]) != new[after] { failure = "Heckel's difference leads elsewhere" }
            if moves.count > heckel.moves.count {
                failure = "\(moves.count) moves in section \(after), by Heckel's method \(heckel.moves.count)"
            }
        }
        if generation == collection.generation,
            new != collection.sections.map({ collection[$0.indices].map(\.modelID) })
        {
            failure = "the change set does not lead to what the collection shows"
        }
    }

    /// Returns the rows after a change set, computed from the change set alone.
    private func updated(by changes: ChangeSet<Object>) -> [[Object]] {
        var kept = rows.map { $0.map { Optional($0) } }
        for path in changes.deletions.map(\.path) + changes.moves.map(\.from) { kept[path.section][path.row] = nil }
        var sections = kept.indices.filter { !changes.deletedSections.contains($0) }.map { kept[$0].compactMap { $0 } }
        for section in changes.insertedSections { sections.insert(section.models, at: section.index) }
        let arriving = changes.insertions.map { ($0.path, $0.model) } + changes.moves.map { ($0.to, $0.model) }
        for (path, item) in arriving.sorted(by: { $0.0 < $1.0 }) { sections[path.section].insert(item, at: path.row) }
        return sections
    }
}

extension CollectionTable where Object == Item {
    convenience init(_ collection: ModelCollection<Item>) {
        self.init(collection) { Cell(id: $0.id, version: $0.version) }
    }
}

extension Batch {
    init(_ changes: ChangeSet<some Model>) {
        self.init(
            deletedSections: changes.deletedSections, insertedSections: changes.insertedSections.map(\.index),
            deletions: changes.deletions.map(\.path), insertions: changes.insertions.map(\.path),
            moves: changes.moves.map { Move(from: $0.from, to: $0.to) },
            updates: changes.updates.map { Update(old: $0.old, new: $0.new) })
    }
}
