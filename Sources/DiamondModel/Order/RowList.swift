/// The ordered rows of a section, with their current indexes and those at the last commit.
///
/// Rows are stored in chunks. One tree over the chunks counts the current rows, another one the rows at the last
/// commit. A chunk that changes keeps its old rows until the commit, so both indexes are found in logarithmic time.
final class RowList {
    /// Rows that the collection retains.
    typealias Rows = ContiguousArray<Unmanaged<Entry>>

    final class Chunk {
        unowned(unsafe) let section: SectionRecord
        fileprivate var rows: Rows
        /// The rows at the last commit; `nil` if they are the current ones.
        fileprivate var oldRows: Rows?
        fileprivate var position = 0
        /// Whether some rows came from another chunk since the last commit.
        fileprivate var isHalf = false

        fileprivate init(_ rows: Rows, in section: SectionRecord) {
            self.rows = rows
            self.section = section
        }

        fileprivate var oldCount: Int { oldRows?.count ?? rows.count }
    }

    private static let chunkSize = 128

    private var chunks: [Chunk]
    /// The first row of each chunk, so that a search reads no other memory of most chunks.
    private var firstRows: [Unmanaged<Entry>?] = [nil]
    private var oldCounts = Fenwick([0])
    private var newCounts = Fenwick([0])
    private var touched: [Chunk] = []
    /// The number of rows now.
    private(set) var count = 0

    private unowned(unsafe) let section: SectionRecord

    init(of section: SectionRecord) {
        self.section = section
        chunks = [Chunk([], in: section)]
    }

    // MARK: Reading

    subscript(index: Int) -> Entry {
        precondition(index < count, "the index \(index) is out of range: there are \(count) rows")
        let (position, rank) = newCounts.position(of: index)
        return chunks[position].rows[rank].takeUnretainedValue()
    }

    /// Returns the current index of a row of this section.
    func newIndex(of entry: Entry) -> Int? {
        guard let chunk = entry.chunk, let place = chunk.rows.place(of: entry) else { return nil }
        return newCounts.sum(ofFirst: chunk.position) + place
    }

    /// Returns the index that a row of this section had at the last commit.
    func oldIndex(of entry: Entry) -> Int? {
        guard let chunk = entry.oldChunk, let place = (chunk.oldRows ?? chunk.rows).place(of: entry) else { return nil }
        return oldCounts.sum(ofFirst: chunk.position) + place
    }

    /// Whether rows were inserted or removed since the last commit.
    var isTouched: Bool { !touched.isEmpty }

    /// The entries of the rows now.
    var entries: [Entry] { chunks.flatMap { $0.rows.lazy.map { $0.takeUnretainedValue() } } }

    /// The entries of the rows at the last commit.
    var oldEntries: [Entry] { chunks.flatMap { ($0.oldRows ?? $0.rows).lazy.map { $0.takeUnretainedValue() } } }

    /// Returns the nearest sorted row before and after another one.
    func neighbors(of entry: Entry) -> (before: Entry?, after: Entry?) {
        guard let chunk = entry.chunk, let place = chunk.rows.place(of: entry) else { return (nil, nil) }
        return (sorted(beside: place, by: -1, in: chunk), sorted(beside: place, by: 1, in: chunk))
    }

    private func sorted(beside place: Int, by step: Int, in chunk: Chunk) -> Entry? {
        var (chunk, place) = (chunk, place + step)
        while true {
            while chunk.rows.indices.contains(place) {
                let entry = chunk.rows[place].takeUnretainedValue()
                if entry.isSorted { return entry }
                place += step
            }
            let next = chunk.position + step
            guard chunks.indices.contains(next) else { return nil }
            chunk = chunks[next]
            place = step > 0 ? 0 : chunk.rows.count - 1
        }
    }

    /// Returns the index after the last sorted row for which `precedes` is true; 0 if there is none. Among the sorted
    /// rows, those for which it is true have to come first.
    func position(where precedes: (Entry) -> Bool) -> Int {
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            guard let (row, place) = firstSorted(from: middle, to: high) else { high = middle; continue }
            if precedes(row) { low = place + 1 } else { high = middle }
        }
        // `precedes` is true for the first sorted row of the chunk before `low`, and for no sorted row of a later
        // chunk. So the boundary is in that chunk, or at its end.
        guard low > 0 else { return 0 }
        let rows = chunks[low - 1].rows
        return newCounts.sum(ofFirst: low - 1) + boundary(in: rows, where: precedes)
    }

    private func firstSorted(from start: Int, to end: Int) -> (Entry, Int)? {
        for place in start..<end {
            guard let first = firstRows[place]?.takeUnretainedValue() else { continue }
            if first.isSorted { return (first, place) }
            let rows = chunks[place].rows
            guard let row = sortedPlace(in: rows, from: 1, to: rows.count) else { continue }
            return (rows[row].takeUnretainedValue(), place)
        }
        return nil
    }

    private func sortedPlace(in rows: Rows, from start: Int, to end: Int) -> Int? {
        var place = start
        while place < end {
            if rows[place]._withUnsafeGuaranteedRef({ $0.isSorted }) { return place }
            place += 1
        }
        return nil
    }

    private func boundary(in rows: Rows, where precedes: (Entry) -> Bool) -> Int {
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            guard let probe = sortedPlace(in: rows, from: middle, to: high) else { high = middle; continue }
            if rows[probe]._withUnsafeGuaranteedRef(precedes) { low = probe + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Changing

    func insert(_ entry: Entry, at index: Int) {
        let (position, place) = index < count ? newCounts.position(of: index) : (chunks.count - 1, Int.max)
        let chunk = chunks[position]
        touch(chunk)
        chunk.rows.insert(.passUnretained(entry), at: min(place, chunk.rows.count))
        entry.chunk = chunk
        firstRows[position] = chunk.rows.first
        newCounts.add(1, at: position)
        count += 1
        if chunk.rows.count > Self.chunkSize * 2 { split(chunk) }
    }

    func remove(_ entry: Entry) {
        guard let chunk = entry.chunk, let place = chunk.rows.place(of: entry) else { return }
        touch(chunk)
        chunk.rows.remove(at: place)
        entry.chunk = nil
        firstRows[chunk.position] = chunk.rows.first
        newCounts.add(-1, at: chunk.position)
        count -= 1
    }

    private func touch(_ chunk: Chunk) {
        guard chunk.oldRows == nil else { return }
        chunk.oldRows = chunk.rows
        touched.append(chunk)
    }

    /// Divides the current rows of a chunk. Its old rows stay in it until the commit.
    private func split(_ chunk: Chunk) {
        let half = Chunk(Rows(chunk.rows[Self.chunkSize...]), in: section)
        half.oldRows = []
        half.isHalf = true
        chunk.rows.removeSubrange(Self.chunkSize...)
        for row in half.rows { row._withUnsafeGuaranteedRef { $0.chunk = half } }
        chunks.insert(half, at: chunk.position + 1)
        touched.append(half)
        recount()
    }

    private func recount() {
        for (position, chunk) in chunks.enumerated() { chunk.position = position }
        firstRows = chunks.map(\.rows.first)
        oldCounts = Fenwick(chunks.map(\.oldCount))
        newCounts = Fenwick(chunks.map(\.rows.count))
    }

    /// Commits the present rows.
    func commit() {
        guard isTouched else { return }
        var isSparse = false
        for chunk in touched {
            oldCounts.add(chunk.rows.count - chunk.oldCount, at: chunk.position)
            chunk.oldRows = nil
            if chunk.isHalf { for row in chunk.rows { row._withUnsafeGuaranteedRef { $0.commitPlace() } } }
            chunk.isHalf = false
            isSparse = isSparse || chunk.rows.isEmpty
        }
        touched.removeAll(keepingCapacity: true)
        if isSparse, chunks.count > 1 { dropEmptyChunks() }
    }

    private func dropEmptyChunks() {
        chunks.removeAll { $0.rows.isEmpty }
        if chunks.isEmpty { chunks = [Chunk([], in: section)] }
        recount()
    }

    /// Replaces all rows. The new rows are committed.
    func rebuild(_ entries: [Entry]) {
        chunks = stride(from: 0, to: max(entries.count, 1), by: Self.chunkSize).map { start in
            let some = entries[start..<min(start + Self.chunkSize, entries.count)]
            let chunk = Chunk(Rows(some.lazy.map(Unmanaged.passUnretained)), in: section)
            for entry in some { entry.chunk = chunk }
            return chunk
        }
        touched = []
        count = entries.count
        recount()
    }
}

extension RowList.Rows {
    fileprivate func place(of entry: Entry) -> Int? {
        let identity = Unmanaged.passUnretained(entry).toOpaque()
        return firstIndex { $0.toOpaque() == identity }
    }
}

/// A section of a collection.
final class SectionRecord {
    let key: String
    private(set) lazy var rows = RowList(of: self)
    /// The index at the last commit; `nil` for a new section.
    var oldIndex: Int?
    /// The current index; with ``CollectionCore/hasOtherSections`` only while a change set is made.
    var index = 0

    init(key: String) { self.key = key }
}
