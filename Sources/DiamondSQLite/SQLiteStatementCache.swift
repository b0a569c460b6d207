/// The prepared statements of one connection, by the address of their SQL.
///
/// A statement that is taken keeps its place, so that giving it back needs no search. The queue has a hundred
/// statements, and looking through them twice for each use was a third of its time in a debug build.
struct SQLiteStatementCache {
    private struct Entry {
        let sql: UnsafePointer<UInt8>
        let statement: OpaquePointer
        var isTaken: Bool
    }

    enum Lookup: Equatable {
        case found(OpaquePointer, place: Int)
        /// The statement is in use: the same SQL inside of itself.
        case taken
        case missing
    }

    private var entries: [Entry] = []
    /// Places in `entries`, -1 for none; found by hash and looking on, and at most half full.
    private var table: [Int] = Array(repeating: -1, count: 64)

    var all: some Sequence<OpaquePointer> { entries.lazy.map(\.statement) }

    mutating func take(_ sql: UnsafePointer<UInt8>) -> Lookup {
        let place = table[slot(of: sql)]
        guard place >= 0 else { return .missing }
        guard !entries[place].isTaken else { return .taken }
        entries[place].isTaken = true
        return .found(entries[place].statement, place: place)
    }

    mutating func giveBack(_ place: Int) { entries[place].isTaken = false }

    /// Adds a statement that is in use, and returns its place.
    mutating func add(_ statement: OpaquePointer, for sql: UnsafePointer<UInt8>) -> Int {
        entries.append(Entry(sql: sql, statement: statement, isTaken: true))
        if entries.count * 2 > table.count {
            table = Array(repeating: -1, count: table.count * 2)
            for place in entries.indices { table[slot(of: entries[place].sql)] = place }
        } else {
            table[slot(of: sql)] = entries.count - 1
        }
        return entries.count - 1
    }

    /// Returns the place of the SQL in the table, or the place where it belongs.
    private func slot(of sql: UnsafePointer<UInt8>) -> Int {
        // Fibonacci hashing (Knuth, TAOCP 3, 6.4): addresses of literals differ in few bits.
        let hash = UInt64(UInt(bitPattern: sql)) &* 0x9E37_79B9_7F4A_7C15
        var slot = Int(hash >> 32) & (table.count - 1)
        while table[slot] >= 0, entries[table[slot]].sql != sql { slot = (slot + 1) & (table.count - 1) }
        return slot
    }
}
