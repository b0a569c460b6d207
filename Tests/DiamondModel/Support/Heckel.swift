/// The difference of two arrays of distinct elements by Heckel's method ("A technique for isolating differences between
/// files", 1978), with moves as table libraries derive them: each element with another number of survivors before it.
struct Heckel<Element: Hashable> {
    private(set) var deletions: [Int] = []
    private(set) var insertions: [Int] = []
    private(set) var moves: [(from: Int, to: Int)] = []
    private let new: [Element]

    init(from old: [Element], to new: [Element]) {
        self.new = new
        let oldIndexes = Dictionary(uniqueKeysWithValues: zip(old, old.indices))
        let stays = Set(new)
        var deletedBefore: [Int] = []
        for (index, element) in old.enumerated() {
            deletedBefore.append(deletions.count)
            if !stays.contains(element) { deletions.append(index) }
        }
        for (index, element) in new.enumerated() {
            guard let place = oldIndexes[element] else { insertions.append(index); continue }
            if place - deletedBefore[place] + insertions.count != index { moves.append((place, index)) }
        }
    }

    /// Performs the operations as a table does: elements without an operation fill the free places in order.
    func applied(to old: [Element]) -> [Element] {
        let leaving = Set(deletions + moves.map(\.from))
        var result = old.indices.filter { !leaving.contains($0) }.map { old[$0] }
        let arriving = insertions.map { ($0, new[$0]) } + moves.map { ($0.to, old[$0.from]) }
        for (index, element) in arriving.sorted(by: { $0.0 < $1.0 }) { result.insert(element, at: index) }
        return result
    }
}
