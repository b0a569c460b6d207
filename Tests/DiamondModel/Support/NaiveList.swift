/// The rows that a collection of items has to show, computed with plain arrays: the oracle of random tests.
///
/// It receives the same calls as the collection, and does not read the collection.
struct NaiveList {
    struct Row {
        let id: Int
        var rank = 0
        var group = "a"
        var version = 0
    }

    enum Sort {
        case none
        case rank
        /// By falling rank, then by version.
        case rankAndVersion
    }

    private var rows: [Int: Row] = [:]
    /// The ids in the insertion order.
    private(set) var order: [Int] = []
    /// The ids of the visible rows, section by section.
    private(set) var shown: [Int] = []
    /// The ids of rows that were placed by index, regardless of the sort order.
    private var pinned: Set<Int> = []
    private var places: [Int: Int]?

    let isSectioned: Bool
    private(set) var sort = Sort.none
    /// The smallest rank that passes the filter.
    private(set) var smallestRank: Int?

    init(isSectioned: Bool) { self.isSectioned = isSectioned }

    /// The cells that a table has to show.
    var cells: [[Cell]] {
        guard isSectioned else { return [shown.map(cell)] }
        var sections: [[Cell]] = []
        for (index, id) in shown.enumerated() {
            if index == 0 || self[id].group != self[shown[index - 1]].group { sections.append([]) }
            sections[sections.count - 1].append(cell(id))
        }
        return sections
    }

    private func cell(_ id: Int) -> Cell { Cell(id: id, version: self[id].version) }

    private subscript(id: Int) -> Row { rows[id] ?? Row(id: id) }

    // MARK: Changes

    mutating func add(_ row: Row) {
        rows[row.id] = row
        insert(row.id, before: nil)
        if isVisible(row.id) { place(row.id) }
    }

    mutating func insert(_ row: Row, at index: Int) {
        rows[row.id] = row
        insert(row.id, before: index < shown.count ? shown[index] : nil)
        show(row.id, at: index)
    }

    mutating func remove(_ id: Int) {
        shown.removeAll { $0 == id }
        order.removeAll { $0 == id }
        pinned.remove(id)
        places = nil
    }

    mutating func move(from index: Int, to target: Int) {
        if index == target { return }
        let id = shown.remove(at: index)
        order.removeAll { $0 == id }
        insert(id, before: target < shown.count ? shown[target] : nil)
        show(id, at: target)
    }

    mutating func exchange(_ first: Int, _ second: Int) {
        if first == second { return }
        move(from: max(first, second), to: min(first, second))
        move(from: min(first, second) + 1, to: max(first, second))
    }

    mutating func replace(at index: Int, with row: Row) {
        remove(shown[index])
        insert(row, at: index)
    }

    mutating func set(_ rows: [Row]) {
        for row in rows { self.rows[row.id] = row }
        order = rows.map(\.id)
        places = nil
        arrange()
    }

    mutating func sort(by sort: Sort) {
        self.sort = sort
        arrange()
    }

    mutating func filter(from smallestRank: Int?) {
        self.smallestRank = smallestRank
        let before = Set(shown)
        let changed = order.filter { before.contains($0) != isVisible($0) }
        // Then the collection arranges all rows again, including pinned ones.
        if changed.count > 100, changed.count > order.count / 5 { return arrange() }
        for id in changed {
            if isVisible(id) { place(id) } else { shown.removeAll { $0 == id } }
        }
    }

    mutating func update(_ id: Int, _ change: (inout Row) -> Void) {
        let old = self[id]
        var new = old
        change(&new)
        rows[id] = new
        let index = shown.firstIndex(of: id)
        if let index, isVisible(id), stays(at: index, from: old, to: new) { return }
        if let index { shown.remove(at: index) }
        if isVisible(id), (index != nil || order.contains(id)) { place(id) }
    }

    func row(_ id: Int) -> Row { self[id] }

    // MARK: Order

    private func isVisible(_ id: Int) -> Bool { smallestRank.map { self[id].rank >= $0 } ?? true }

    private mutating func insert(_ id: Int, before next: Int?) {
        order.insert(id, at: next.flatMap { order.firstIndex(of: $0) } ?? order.count)
        places = nil
    }

    private mutating func precedes(_ left: Int, _ right: Int) -> Bool {
        let (first, second) = (self[left], self[right])
        switch sort {
        case .none: break
        case .rank: if first.rank != second.rank { return first.rank < second.rank }
        case .rankAndVersion:
            if first.rank != second.rank { return first.rank > second.rank }
            if first.version != second.version { return first.version < second.version }
        }
        let places = self.places ?? Dictionary(uniqueKeysWithValues: zip(order, order.indices))
        self.places = places
        return (places[left] ?? 0) < (places[right] ?? 0)
    }

    private mutating func arrange() {
        pinned = []
        var list = self
        shown = order.filter(isVisible).sorted { left, right in
            if isSectioned, list[left].group != list[right].group { return list[left].group < list[right].group }
            return list.precedes(left, right)
        }
    }

    /// The indexes of the rows of a section.
    private func section(of id: Int) -> Range<Int> {
        guard isSectioned else { return 0..<shown.count }
        let start = shown.count { self[$0].group < self[id].group }
        return start..<start + shown.count { self[$0].group == self[id].group }
    }

    /// Puts a row after the last unpinned row that precedes it.
    private mutating func place(_ id: Int) {
        pinned.remove(id)
        let section = section(of: id)
        var index = section.upperBound
        while index > section.lowerBound {
            let before = shown[index - 1]
            if !pinned.contains(before), precedes(before, id) { break }
            index -= 1
        }
        shown.insert(id, at: index)
    }

    /// Shows a row at an index, or as near to it as its section allows.
    private mutating func show(_ id: Int, at index: Int) {
        guard isVisible(id) else { return }
        if sort == .none { return place(id) }
        let section = section(of: id)
        shown.insert(id, at: min(max(index, section.lowerBound), section.upperBound))
        pinned.insert(id)
    }

    /// Whether a changed row keeps its place.
    private mutating func stays(at index: Int, from old: Row, to new: Row) -> Bool {
        if isSectioned, old.group != new.group { return false }
        if sort == .none { return true }
        if pinned.contains(new.id) {
            return old.rank == new.rank && (sort == .rank || old.version == new.version)
        }
        let section = section(of: new.id)
        let before = shown[section.lowerBound..<index].last { !pinned.contains($0) }
        let after = shown[(index + 1)..<section.upperBound].first { !pinned.contains($0) }
        return before.map { !precedes(new.id, $0) } ?? true && after.map { !precedes($0, new.id) } ?? true
    }
}
