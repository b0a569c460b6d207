/// A priority queue of values with keys, the greatest key first. Any value can get another key or be removed.
///
/// A binary heap with the position of each value. A change takes logarithmic time, and a removed value leaves no
/// tombstone.
struct Heap<Value: Hashable, Key: Comparable> {
    typealias Entry = (value: Value, key: Key)

    /// The key of an entry is not greater than the key of the entry at half its index.
    private var entries: [Entry] = []
    private var positions: [Value: Int] = [:]

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    subscript(value: Value) -> Key? { positions[value].map { entries[$0].key } }

    /// Returns the entry with the greatest key among those that satisfy a predicate. It visits that entry, the rejected
    /// ones with greater keys, and at most two more for each.
    func first(where isIncluded: (Value) -> Bool) -> Entry? { first(from: 0, where: isIncluded) }

    private func first(from position: Int, where isIncluded: (Value) -> Bool) -> Entry? {
        guard position < entries.count else { return nil }
        if isIncluded(entries[position].value) { return entries[position] }
        let left = first(from: 2 * position + 1, where: isIncluded)
        let right = first(from: 2 * position + 2, where: isIncluded)
        guard let left, let right else { return left ?? right }
        return left.key < right.key ? right : left
    }

    /// Adds a value, or changes its key.
    mutating func set(_ key: Key, for value: Value) {
        if let position = positions[value] {
            entries[position].key = key
            siftEntry(position)
        } else {
            entries.append((value, key))
            siftEntry(entries.count - 1)
        }
    }

    mutating func remove(_ value: Value) {
        guard let position = positions.removeValue(forKey: value) else { return }
        entries.swapAt(position, entries.count - 1)
        entries.removeLast()
        if position < entries.count { siftEntry(position) }
    }

    /// Moves an entry up or down until the heap is ordered.
    private mutating func siftEntry(_ start: Int) {
        var position = start
        while position > 0, entries[(position - 1) / 2].key < entries[position].key {
            position = swap(position, with: (position - 1) / 2)
        }
        while let child = greaterChild(of: position), entries[position].key < entries[child].key {
            position = swap(position, with: child)
        }
        positions[entries[position].value] = position
    }

    private func greaterChild(of position: Int) -> Int? {
        let left = 2 * position + 1
        let right = left + 1
        guard right < entries.count else { return left < entries.count ? left : nil }
        return entries[left].key < entries[right].key ? right : left
    }

    /// Swaps two entries, and returns the new position of the first.
    private mutating func swap(_ position: Int, with other: Int) -> Int {
        entries.swapAt(position, other)
        positions[entries[position].value] = position
        return other
    }
}
