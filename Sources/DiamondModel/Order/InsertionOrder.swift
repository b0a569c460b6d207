/// The insertion order of a collection: a linked list of entries with labels for comparison.
///
/// If there is no label left between two entries, the labels around them are spread (Bender and others, "Two simplified
/// algorithms for maintaining order in a list", 2002).
struct InsertionOrder {
    private(set) unowned(unsafe) var first: Entry?
    private(set) unowned(unsafe) var last: Entry?
    /// The number of entries that were inserted or removed so far.
    private(set) var changes = 0

    private static let end: Int64 = 1 << 62
    private static let stride: Int64 = 1 << 20

    mutating func append(_ entry: Entry) { insert(entry, before: nil) }

    /// Inserts an entry before another, or at the end.
    mutating func insert(_ entry: Entry, before next: Entry?) {
        changes += 1
        let previous = next == nil ? last : next?.previous
        entry.previous = previous
        entry.next = next
        if let previous { previous.next = entry } else { first = entry }
        if let next { next.previous = entry } else { last = entry }
        if let label = Self.label(between: previous, next) { entry.label = label } else { Self.spread(around: entry) }
    }

    mutating func remove(_ entry: Entry) {
        changes += 1
        if let previous = entry.previous { previous.next = entry.next } else { first = entry.next }
        if let next = entry.next { next.previous = entry.previous } else { last = entry.previous }
        entry.previous = nil
        entry.next = nil
    }

    private static func label(between previous: Entry?, _ next: Entry?) -> Int64? {
        let low = previous?.label ?? next.map { Swift.max(-1, $0.label - 2 * stride) } ?? end / 2 - stride
        let high = next?.label ?? Swift.min(end, low + 2 * stride)
        return high - low >= 2 ? low + (high - low) / 2 : nil
    }

    /// Relabels the smallest range around an entry that is sparse enough.
    private static func spread(around entry: Entry) {
        var low = entry
        var high = entry
        var count: Int64 = 1
        let center = entry.previous?.label ?? entry.next?.label ?? end / 2
        var width: Int64 = 1
        var capacity = 1.0
        var base = center
        repeat {
            width *= 2
            capacity *= 4.0 / 3
            base = center & ~(width - 1)
            while let previous = low.previous, previous.label >= base { (low, count) = (previous, count + 1) }
            while let next = high.next, next.label < base + width { (high, count) = (next, count + 1) }
        } while (Double(count) > capacity || width / count < 2) && width < end
        relabel(from: low, to: high, base: base, step: width / count)
    }

    private static func relabel(from low: Entry, to high: Entry, base: Int64, step: Int64) {
        var entry = low
        var label = base + step / 2
        while true {
            entry.label = label
            label += step
            guard entry !== high, let next = entry.next else { return }
            entry = next
        }
    }
}

extension InsertionOrder: Sequence {
    struct Iterator: IteratorProtocol {
        fileprivate unowned(unsafe) var entry: Entry?

        mutating func next() -> Entry? {
            defer { entry = entry?.next }
            return entry
        }
    }

    func makeIterator() -> Iterator { Iterator(entry: first) }
}
