/// The prepared statements of one connection, by the addresses of their literals.
///
/// A statement in use keeps its place, so that returning it needs no search. The queue has a hundred statements, and a
/// linear search took a third of its time in a debug build.
struct SQLiteStatementCache {
    private struct Entry {
        let hash: UInt64
        let marks: [UInt]
        let statement: OpaquePointer
        var isInUse: Bool
    }

    enum Lookup: Equatable {
        case found(OpaquePointer, place: Int)
        /// The statement is in use: the same SQL runs nested in itself.
        case inUse
        case missing
    }

    private var entries: [Entry] = []
    /// A hash table of indexes into `entries`, -1 for an empty slot, with linear probing. At most half full.
    private var table: [Int] = Array(repeating: -1, count: 64)

    var all: some Sequence<OpaquePointer> { entries.lazy.map(\.statement) }

    /// Returns the statement for the SQL, which is then in use.
    mutating func checkOut(_ sql: SQL) -> Lookup {
        let place = table[slot(of: sql)]
        guard place >= 0 else { return .missing }
        guard !entries[place].isInUse else { return .inUse }
        entries[place].isInUse = true
        return .found(entries[place].statement, place: place)
    }

    /// Returns a statement to the cache.
    mutating func checkIn(_ place: Int) { entries[place].isInUse = false }

    /// Adds a statement that is in use, and returns its place.
    mutating func add(_ statement: OpaquePointer, for sql: SQL) -> Int {
        entries.append(Entry(hash: sql.hash, marks: sql.marks, statement: statement, isInUse: true))
        if entries.count * 2 > table.count {
            table = Array(repeating: -1, count: table.count * 2)
            for place in entries.indices { table[freeSlot(for: entries[place].hash)] = place }
        } else {
            table[freeSlot(for: sql.hash)] = entries.count - 1
        }
        return entries.count - 1
    }

    /// Returns the slot of the SQL in the table, or the empty slot for it.
    private func slot(of sql: SQL) -> Int {
        var slot = Int(truncatingIfNeeded: sql.hash) & (table.count - 1)
        while table[slot] >= 0 {
            let place = table[slot]
            if entries[place].hash == sql.hash, sql.hasMarks(entries[place].marks) { break }
            slot = (slot + 1) & (table.count - 1)
        }
        return slot
    }

    private func freeSlot(for hash: UInt64) -> Int {
        var slot = Int(truncatingIfNeeded: hash) & (table.count - 1)
        while table[slot] >= 0 { slot = (slot + 1) & (table.count - 1) }
        return slot
    }
}
