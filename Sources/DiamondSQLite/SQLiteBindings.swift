/// Room for what is bound to the statements that are in use, one behind the other: SQLite's own copies are an allocation
/// each, of which a store has seven.
struct SQLiteBindings {
    private static let size = 16 << 10

    private var room: UnsafeMutableRawPointer?
    private var used = 0

    /// - Returns: where the copy is; `nil` where it has no room.
    mutating func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
        guard let start = bytes.baseAddress, bytes.count <= Self.size - used else { return nil }
        let room = room ?? .allocate(byteCount: Self.size, alignment: 1)
        self.room = room
        let place = room + used
        place.copyMemory(from: start, byteCount: bytes.count)
        used += bytes.count
        return UnsafeRawPointer(place)
    }

    mutating func removeAll() { used = 0 }

    /// Not before every statement is closed.
    mutating func free() {
        room?.deallocate()
        room = nil
    }
}
