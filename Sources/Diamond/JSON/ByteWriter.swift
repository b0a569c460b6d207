/// Writes bytes where they stay, one piece behind another, in room that was made for all of them.
///
/// A key is made of many short pieces: making room for each, and having each piece's memory handed out by an
/// `OutputSpan`, would cost more than the bytes. A piece that is longer than the room left ends the program.
struct ByteWriter: ~Copyable {
    private var place: UnsafeMutablePointer<UInt8>
    private let end: UnsafeMutablePointer<UInt8>

    @inline(__always)
    fileprivate init(_ room: Range<UnsafeMutablePointer<UInt8>>) { (place, end) = (room.lowerBound, room.upperBound) }

    /// Returns the number of bytes between `start` and what comes next.
    @inline(__always)
    fileprivate func count(from start: UnsafeMutablePointer<UInt8>) -> Int { place - start }

    /// Has several pieces written behind one look at the room.
    ///
    /// - Parameters:
    ///   - count: how many bytes they are at most.
    ///   - write: writes them where it is told, and returns where they end.
    @inline(__always)
    mutating func write(atMost count: Int, _ write: (UnsafeMutablePointer<UInt8>) -> UnsafeMutablePointer<UInt8>) {
        precondition(count <= end - place, "no room for the bytes")
        place = write(place)
    }

    @inline(__always)
    mutating func write(_ byte: UInt8) { write(atMost: 1) { $0.adding(byte) } }

    @inline(__always)
    mutating func write(_ bytes: Span<UInt8>) { write(atMost: bytes.count) { $0.adding(bytes) } }

    @inline(__always)
    mutating func write(_ text: StaticString) { write(atMost: text.utf8CodeUnitCount) { $0.adding(text) } }

    /// The digits of an integer: 20 bytes at most, its sign among them.
    @inline(__always)
    mutating func write(decimal integer: Int64) {
        if integer < 0 { write(UInt8(ascii: "-")) }
        write(digits: integer.magnitude)
    }

    /// From the last to the first, as division brings them.
    private mutating func write(digits number: UInt64) {
        let length = number.decimalLength
        write(atMost: length) { digits in
            var (place, rest) = (digits + length, number)
            while place > digits {
                place -= 1
                place.initialize(to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            }
            return digits + length
        }
    }
}

/// The pieces themselves: each is written from a place on, and what comes behind it is returned.
extension UnsafeMutablePointer<UInt8> {
    @inline(__always)
    func adding(_ byte: UInt8) -> Self {
        initialize(to: byte)
        return self + 1
    }

    @inline(__always)
    func adding(_ bytes: Span<UInt8>) -> Self {
        bytes.withUnsafeBufferPointer { bytes in
            if let first = bytes.baseAddress { initialize(from: first, count: bytes.count) }
        }
        return self + bytes.count
    }

    @inline(__always)
    func adding(_ text: StaticString) -> Self {
        initialize(from: text.utf8Start, count: text.utf8CodeUnitCount)
        return self + text.utf8CodeUnitCount
    }
}

extension UInt64 {
    /// The number of its decimal digits. The value is no more than an `Int64` can be.
    fileprivate var decimalLength: Int {
        var (length, bound) = (1, UInt64(10))
        while self >= bound { (length, bound) = (length + 1, bound * 10) }
        return length
    }
}

extension [UInt8] {
    /// Adds what `write` writes.
    ///
    /// - Parameter count: how many bytes that is at most.
    @inline(__always)
    mutating func append(atMost count: Int, _ write: (inout ByteWriter) -> Void) {
        #if compiler(>=6.3)
        append(addingCapacity: count) { span in
            span.withUnsafeMutableBufferPointer { buffer, used in
                guard let start = buffer.baseAddress else { return }
                var writer = ByteWriter((start + used)..<(start + buffer.count))
                write(&writer)
                used = writer.count(from: start)
            }
        }
        #else
        // The way without a copy is of Swift 6.3.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { buffer in
            guard let start = buffer.baseAddress else { return }
            var writer = ByteWriter(start..<(start + count))
            write(&writer)
            append(contentsOf: buffer[..<writer.count(from: start)])
        }
        #endif
    }

    /// Adds the digits of an integer.
    mutating func append(decimal integer: Int64) { append(atMost: 20) { $0.write(decimal: integer) } }
}
