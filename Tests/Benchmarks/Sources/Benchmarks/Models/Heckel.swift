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
