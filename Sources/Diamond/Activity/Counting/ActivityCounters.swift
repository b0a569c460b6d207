/// The counts of open intervals, as a value.
///
/// It counts by subject (a lane, an origin and tags together), so that beginning an interval costs one lookup at
/// most, and ending it none. The sums of a lane, an origin or a tag are computed on demand.
struct ActivityCounters {
    private struct Entry {
        var subject: ActivitySubject
        var counts = ActivityCounts()
    }

    private(set) var total = ActivityCounts()
    private var entries: [Entry] = []
    private var indices: [ActivitySubject: Int] = [:]
    private var free: [Int] = []
    /// The index of the last entry. The next count is often of the same subject, which then needs no lookup.
    private var last: Int?

    /// The number of entries up to which empty ones are not removed, because most subjects recur soon.
    private static let capacity = 64

    /// Counts the begin of an interval.
    ///
    /// - Returns: the index of the entry, for ``end(_:entry:)``.
    mutating func begin(_ kind: ActivityInterval.Kind, for subject: ActivitySubject) -> Int {
        let entry = entry(of: subject)
        last = entry
        total.add(1, to: kind)
        entries[entry].counts.add(1, to: kind)
        return entry
    }

    private mutating func entry(of subject: ActivitySubject) -> Int {
        if let last, entries[last].subject == subject { return last }
        return indices[subject] ?? open(subject)
    }

    /// Counts the end of an interval. Call it once for each begin.
    mutating func end(_ kind: ActivityInterval.Kind, entry: Int) {
        total.add(-1, to: kind)
        entries[entry].counts.add(-1, to: kind)
        if indices.count > Self.capacity, entries[entry].counts.isEmpty { close(entry) }
    }

    private mutating func open(_ subject: ActivitySubject) -> Int {
        let index = free.popLast() ?? entries.count
        if index == entries.count {
            entries.append(Entry(subject: subject))
        } else {
            entries[index] = Entry(subject: subject)
        }
        indices[subject] = index
        return index
    }

    private mutating func close(_ index: Int) {
        if last == index { last = nil }
        indices[entries[index].subject] = nil
        // Frees the strings of the subject.
        entries[index] = Entry(subject: ActivitySubject(lane: .default, origin: "", tags: []))
        free.append(index)
    }

    /// The number of entries.
    var count: Int { indices.count }

    var snapshot: ActivitySnapshot {
        var lanes: [Lane: ActivityCounts] = [:]
        var origins: [String: ActivityCounts] = [:]
        var tags: [String: ActivityCounts] = [:]
        for entry in entries where !entry.counts.isEmpty {
            lanes[entry.subject.lane, default: ActivityCounts()] += entry.counts
            origins[entry.subject.origin, default: ActivityCounts()] += entry.counts
            for tag in entry.subject.tags { tags[tag, default: ActivityCounts()] += entry.counts }
        }
        return ActivitySnapshot(counts: total, lanes: lanes, origins: origins, tags: tags)
    }
}
