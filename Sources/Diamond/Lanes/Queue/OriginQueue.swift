/// The waiters of one lane for one origin, first in, first out within a priority.
struct OriginQueue {
    /// The position of a waiter in the queue.
    struct Entry: Hashable, Comparable {
        var number: SlotNumber
        var urgency: Urgency

        func hash(into hasher: inout Hasher) { hasher.combine(number) }

        static func < (left: Entry, right: Entry) -> Bool { left.urgency < right.urgency }
    }

    /// The entries by priority, only for priorities with waiters.
    private var lines: [(priority: RequestPriority, entries: FIFOSet<Entry>)] = []

    /// The most urgent entry; `nil` if there is no waiter. It is the first of its line.
    var first: Entry? { lines.lazy.compactMap(\.entries.first).max() }

    mutating func append(_ entry: Entry, priority: RequestPriority) {
        if let index = index(of: priority) { return lines[index].entries.append(entry) }
        var entries = FIFOSet<Entry>()
        entries.append(entry)
        lines.append((priority, entries))
    }

    mutating func remove(_ entry: Entry, priority: RequestPriority) {
        guard let index = index(of: priority) else { return }
        lines[index].entries.remove(entry)
        if lines[index].entries.isEmpty { lines.remove(at: index) }
    }

    private func index(of priority: RequestPriority) -> Int? { lines.firstIndex { $0.priority == priority } }
}
