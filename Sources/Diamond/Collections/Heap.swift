/// Numbers from 0 on, the one with the greatest key first; each may get another key, or go, wherever it stands.
///
/// A change costs the logarithm of their count, and what has gone leaves nothing behind.
struct Heap<Key: Comparable> {
    typealias Entry = (key: Key, number: Int)

    /// None is greater than that at half its index.
    private var entries: [Entry] = []
    /// Where each number stands; -1 for one that does not.
    private var positions: [Int32] = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    var numbers: some Sequence<Int> { entries.lazy.map(\.number) }

    func contains(_ number: Int) -> Bool { position(of: number) != nil }

    private func position(of number: Int) -> Int? {
        number < positions.count && positions[number] >= 0 ? Int(positions[number]) : nil
    }

    /// The first of those that are chosen. Costs a look at those that are not and come before it, and two more for each.
    func first(where isChosen: (Int) -> Bool) -> Entry? { first(from: 0, where: isChosen) }

    private func first(from position: Int, where isChosen: (Int) -> Bool) -> Entry? {
        guard position < entries.count else { return nil }
        if isChosen(entries[position].number) { return entries[position] }
        let left = first(from: 2 * position + 1, where: isChosen)
        let right = first(from: 2 * position + 2, where: isChosen)
        guard let left, let right else { return left ?? right }
        return left.key < right.key ? right : left
    }

    /// Puts a number in, or gives it another key.
    mutating func set(_ key: Key, for number: Int) {
        if let position = position(of: number) {
            entries[position].key = key
            settle(position)
        } else {
            while positions.count <= number { positions.append(-1) }
            entries.append((key, number))
            settle(entries.count - 1)
        }
    }

    /// - Returns: its key; `nil` where it is not there.
    @discardableResult
    mutating func remove(_ number: Int) -> Key? {
        guard let position = position(of: number) else { return nil }
        entries.swapAt(position, entries.count - 1)
        let (key, _) = entries.removeLast()
        positions[number] = -1
        if position < entries.count { settle(position) }
        return key
    }

    /// Moves the one that stands here to where its key belongs.
    private mutating func settle(_ start: Int) {
        var position = start
        while position > 0, entries[(position - 1) / 2].key < entries[position].key {
            position = swap(position, (position - 1) / 2)
        }
        while let child = greaterChild(of: position), entries[position].key < entries[child].key {
            position = swap(position, child)
        }
        positions[entries[position].number] = Int32(position)
    }

    private func greaterChild(of position: Int) -> Int? {
        let (left, right) = (2 * position + 1, 2 * position + 2)
        guard right < entries.count else { return left < entries.count ? left : nil }
        return entries[left].key < entries[right].key ? right : left
    }

    /// - Returns: where the one that stood at `position` stands now.
    private mutating func swap(_ position: Int, _ other: Int) -> Int {
        entries.swapAt(position, other)
        positions[entries[position].number] = Int32(position)
        return other
    }
}
