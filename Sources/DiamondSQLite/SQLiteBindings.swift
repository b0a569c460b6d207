/// A buffer for the values bound to the statements in use. Without it SQLite allocates a copy of each value;
/// writing a response binds seven.
struct SQLiteBindings {
    private static let size = 16 << 10

    private var buffer: UnsafeMutableRawPointer?
    private var used = 0

    /// Copies bytes into the buffer.
    ///
    /// - Returns: The address of the copy; `nil` if the buffer is full.
    mutating func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
        guard let start = bytes.baseAddress, bytes.count <= Self.size - used else { return nil }
        let buffer = buffer ?? .allocate(byteCount: Self.size, alignment: 1)
        self.buffer = buffer
        let destination = buffer + used
        destination.copyMemory(from: start, byteCount: bytes.count)
        used += bytes.count
        return UnsafeRawPointer(destination)
    }

    mutating func removeAll() { used = 0 }

    /// Deallocates the buffer. All statements have to be finalized before.
    mutating func free() {
        buffer?.deallocate()
        buffer = nil
    }
}
