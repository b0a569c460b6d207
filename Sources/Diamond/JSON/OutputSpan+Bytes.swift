/// Bytes that are written where they stay.
extension OutputSpan<UInt8> {
    mutating func append(_ text: StaticString) {
        append(count: text.utf8CodeUnitCount) { $0.initialize(from: text.utf8Start, count: text.utf8CodeUnitCount) }
    }

    mutating func append(_ bytes: Span<UInt8>) { append(count: bytes.count) { bytes.copy(to: $0) } }

    /// Adds bytes that `write` writes, all of them, from a place on: one look at the room for several pieces.
    @inline(__always)
    mutating func append(count added: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Void) {
        precondition(added <= freeCapacity, "no room for the bytes")
        withUnsafeMutableBufferPointer { buffer, count in
            guard let start = buffer.baseAddress else { return }
            write(start + count)
            count &+= added
        }
    }

    /// Adds the digits of an integer: 20 bytes at most, its sign among them.
    mutating func append(decimal integer: Int64) {
        if integer < 0 { append(UInt8(ascii: "-")) }
        append(digits: integer.magnitude)
    }

    private mutating func append(digits number: UInt64) {
        if number >= 10 { append(digits: number / 10) }
        append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }
}

extension [UInt8] {
    /// Adds the digits of an integer.
    mutating func append(decimal integer: Int64) {
        append(addingCapacity: 20) { $0.append(decimal: integer) }
    }
}
