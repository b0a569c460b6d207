/// The ordered rows of a section, with their current indexes and those at the last commit.
///
/// Rows are stored in chunks. One tree over the chunks counts the current rows, another one the rows at the last
/// commit. A removed row stays in its chunk until the commit, so both indexes are found in logarithmic time.
final class RowList {
    /// A row of an entry.
    final class Row {
        unowned(unsafe) let entry: Entry
        fileprivate unowned(unsafe) var chunk: Chunk
        fileprivate(set) unowned(unsafe) var section: SectionRecord
        /// Whether the row existed at the last commit.
        fileprivate(set) var isOld: Bool
        /// Whether the row exists now.
        fileprivate(set) var isNew = true

        fileprivate init(_ entry: Entry, section: SectionRecord, chunk: Chunk, isOld: Bool) {
            self.entry = entry
            self.section = section
            self.chunk = chunk
            self.isOld = isOld
        }
    }

    fileprivate final class Chunk {
        var rows: ContiguousArray<Row> = []
        var position = 0
        var oldCount = 0
        var newCount = 0
        var isTouched = false
    }

    private static let chunkSize = 128

    private var chunks: [Chunk] = [Chunk()]
    private var oldCounts = Fenwick([0])
    private var newCounts = Fenwick([0])
    private var touched: [Chunk] = []
    /// The number of rows now.
    private(set) var count = 0

    private unowned(unsafe) let section: SectionRecord

    init(of section: SectionRecord) { self.section = section }

    // MARK: Reading

    subscript(index: Int) -> Entry {
        let (position, rank) = newCounts.position(of: index)
        let chunk = chunks[position]
        if chunk.newCount == chunk.rows.count { return chunk.rows[rank].entry }
        var rest = rank
        for row in chunk.rows where row.isNew {
            if rest == 0 { return row.entry }
            rest -= 1
        }
        preconditionFailure("the index \(index) is out of range: there are \(count) rows")
    }

    /// Returns the current index of a row.
    func newIndex(of row: Row) -> Int {
        let chunk = row.chunk
        var index = newCounts.sum(ofFirst: chunk.position)
        for other in chunk.rows {
            if other === row { break }
            if other.isNew { index += 1 }
        }
        return index
    }

    /// Returns the index of a row at the last commit.
    func oldIndex(of row: Row) -> Int {
        let chunk = row.chunk
        var index = oldCounts.sum(ofFirst: chunk.position)
        for other in chunk.rows {
            if other === row { break }
            if other.isOld { index += 1 }
        }
        return index
    }

    /// The number of rows at the last commit.
    var oldCount: Int { oldCounts.sum(ofFirst: chunks.count) }

    /// The entries of the rows now.
    var entries: [Entry] {
        var entries: [Entry] = []
        entries.reserveCapacity(count)
        for chunk in chunks {
            for row in chunk.rows where row.isNew { entries.append(row.entry) }
        }
        return entries
    }

    /// The entries of the rows at the last commit.
    var oldEntries: [Entry] { chunks.flatMap { $0.rows.filter(\.isOld).map(\.entry) } }

    /// Returns the index after the last sorted row for which `precedes` is true; 0 if there is none. Among the sorted
    /// rows, those for which it is true have to come first.
    func position(where precedes: (Entry) -> Bool) -> Int {
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            guard let (row, place) = firstSorted(from: middle, to: high) else { high = middle; continue }
            if precedes(row.entry) { low = place + 1 } else { high = middle }
        }
        // `precedes` is true for the first sorted row of the chunk before `low`, and for no sorted row of a later
        // chunk. So the boundary is in that chunk, or at its end.
        guard low > 0 else { return 0 }
        let chunk = chunks[low - 1]
        return newCounts.sum(ofFirst: low - 1) + boundary(in: chunk, where: precedes)
    }

    private func firstSorted(from start: Int, to end: Int) -> (Row, Int)? {
        for place in start..<end {
            let chunk = chunks[place]
            guard chunk.newCount > 0 else { continue }
            if let row = chunk.rows.first(where: { $0.isNew && $0.entry.isSorted }) { return (row, place) }
        }
        return nil
    }

    private func boundary(in chunk: Chunk, where precedes: (Entry) -> Bool) -> Int {
        let rows = chunk.rows
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            guard let probe = rows[middle..<high].firstIndex(where: { $0.isNew && $0.entry.isSorted }) else {
                high = middle
                continue
            }
            if precedes(rows[probe].entry) { low = probe + 1 } else { high = middle }
        }
        if chunk.newCount == rows.count { return low }
        return rows[..<low].count { $0.isNew }
    }

    // MARK: Changing

    func insert(_ entry: Entry, at index: Int) -> Row {
        let (chunk, place) = place(of: index)
        let row = Row(entry, section: section, chunk: chunk, isOld: false)
        chunk.rows.insert(row, at: place)
        chunk.newCount += 1
        newCounts.add(1, at: chunk.position)
        count += 1
        touch(chunk)
        if chunk.rows.count > Self.chunkSize * 2 { split(chunk) }
        return row
    }

    private func place(of index: Int) -> (Chunk, Int) {
        if index >= count {
            let chunk = chunks[chunks.count - 1]
            return (chunk, chunk.rows.count)
        }
        let (position, rank) = newCounts.position(of: index)
        let chunk = chunks[position]
        if chunk.newCount == chunk.rows.count { return (chunk, rank) }
        var rest = rank
        let place = chunk.rows.firstIndex { row in
            guard row.isNew else { return false }
            rest -= 1
            return rest < 0
        }
        return (chunk, place ?? chunk.rows.count)
    }

    func remove(_ row: Row) {
        let chunk = row.chunk
        row.isNew = false
        chunk.newCount -= 1
        newCounts.add(-1, at: chunk.position)
        count -= 1
        touch(chunk)
        if !row.isOld { chunk.rows.removeAll { $0 === row } }
    }

    private func touch(_ chunk: Chunk) {
        guard !chunk.isTouched else { return }
        chunk.isTouched = true
        touched.append(chunk)
    }

    private func split(_ chunk: Chunk) {
        let half = Chunk()
        half.rows = ContiguousArray(chunk.rows[Self.chunkSize...])
        chunk.rows.removeSubrange(Self.chunkSize...)
        for row in half.rows { row.chunk = half }
        for chunk in [chunk, half] {
            chunk.oldCount = chunk.rows.count { $0.isOld }
            chunk.newCount = chunk.rows.count { $0.isNew }
        }
        chunks.insert(half, at: chunk.position + 1)
        touch(half)
        recount()
    }

    private func recount() {
        for (position, chunk) in chunks.enumerated() { chunk.position = position }
        oldCounts = Fenwick(chunks.map(\.oldCount))
        newCounts = Fenwick(chunks.map(\.newCount))
    }

    /// Commits the present rows.
    func commit() {
        guard !touched.isEmpty else { return }
        var isSparse = false
        for chunk in touched {
            if chunk.newCount < chunk.rows.count { chunk.rows.removeAll { !$0.isNew } }
            for row in chunk.rows where !row.isOld { row.isOld = true }
            oldCounts.add(chunk.newCount - chunk.oldCount, at: chunk.position)
            chunk.oldCount = chunk.newCount
            chunk.isTouched = false
            isSparse = isSparse || chunk.rows.isEmpty
        }
        touched.removeAll(keepingCapacity: true)
        if isSparse, chunks.count > 1 { dropEmptyChunks() }
    }

    private func dropEmptyChunks() {
        chunks.removeAll { $0.rows.isEmpty }
        if chunks.isEmpty { chunks = [Chunk()] }
        recount()
    }

    /// Replaces all rows. The new rows are committed.
    func rebuild(_ entries: [Entry], place: (Entry, Row) -> Void) {
        chunks = stride(from: 0, to: Swift.max(entries.count, 1), by: Self.chunkSize).map { start in
            let chunk = Chunk()
            for entry in entries[start..<Swift.min(start + Self.chunkSize, entries.count)] {
                let row = Row(entry, section: section, chunk: chunk, isOld: true)
                chunk.rows.append(row)
                place(entry, row)
            }
            chunk.oldCount = chunk.rows.count
            chunk.newCount = chunk.rows.count
            return chunk
        }
        touched = []
        count = entries.count
        recount()
    }
}
