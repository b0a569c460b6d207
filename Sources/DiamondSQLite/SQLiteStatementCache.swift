/// The prepared statements of one connection, by the address of their SQL.
///
/// A statement in use keeps its place, so that returning it needs no search. The queue has a hundred statements, and a
/// linear search took a third of its time in a debug build.
struct SQLiteStatementCache {
    private struct Entry {
        let sql: UnsafePointer<UInt8>
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
    mutating func checkOut(_ sql: UnsafePointer<UInt8>) -> Lookup {
        let place = table[slot(of: sql)]
        guard place >= 0 else { return .missing }
        guard !entries[place].isInUse else { return .inUse }
        entries[place].isInUse = true
        return .found(entries[place].statement, place: place)
    }

    /// Returns a statement to the cache.
    mutating func checkIn(_ place: Int) { entries[place].isInUse = false }

    /// Adds a statement that is in use, and returns its place.
    mutating func add(_ statement: OpaquePointer, for sql: UnsafePointer<UInt8>) -> Int {
        entries.append(Entry(sql: sql, statement: statement, isInUse: true))
        if entries.count * 2 > table.count {
            table = Array(repeating: -1, count: table.count * 2)
            for place in entries.indices { table[slot(of: entries[place].sql)] = place }
        } else {
            table[slot(of: sql)] = entries.count - 1
        }
        return entries.count - 1
    }

    /// Returns the slot of the SQL in the table, or the empty slot for it.
    private func slot(of sql: UnsafePointer<UInt8>) -> Int {
        // Fibonacci hashing (Knuth, TAOCP 3, 6.4): addresses of literals differ in few bits.
        let hash = UInt64(UInt(bitPattern: sql)) &* 0x9E37_79B9_7F4A_7C15
        var slot = Int(hash >> 32) & (table.count - 1)
        while table[slot] >= 0, entries[table[slot]].sql != sql { slot = (slot + 1) & (table.count - 1) }
        return slot
    }
}
