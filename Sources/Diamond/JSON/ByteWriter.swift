/// A writer that appends pieces of bytes to memory that was reserved for all of them.
///
/// A key consists of many short pieces. Reserving memory for each, or writing each through an `OutputSpan`, would cost
/// more than the copy. A piece that exceeds the reserved memory traps.
struct ByteWriter: ~Copyable {
    private var next: UnsafeMutablePointer<UInt8>
    private let end: UnsafeMutablePointer<UInt8>

    @inline(__always)
    fileprivate init(_ room: Range<UnsafeMutablePointer<UInt8>>) {
        next = room.lowerBound
        end = room.upperBound
    }

    /// Returns the number of bytes written since `start`.
    @inline(__always)
    fileprivate func count(from start: UnsafeMutablePointer<UInt8>) -> Int { next - start }

    /// Writes several pieces with one check of the capacity.
    ///
    /// - Parameters:
    ///   - count: the maximum number of bytes.
    ///   - write: a closure that writes at the given pointer and returns the end of the written bytes.
    @inline(__always)
    mutating func write(atMost count: Int, _ write: (UnsafeMutablePointer<UInt8>) -> UnsafeMutablePointer<UInt8>) {
        precondition(count <= end - next, "no room for the bytes")
        next = write(next)
    }

    @inline(__always)
    mutating func write(_ byte: UInt8) { write(atMost: 1) { $0.adding(byte) } }

    @inline(__always)
    mutating func write(_ bytes: Span<UInt8>) { write(atMost: bytes.count) { $0.adding(bytes) } }

    @inline(__always)
    mutating func write(_ text: StaticString) { write(atMost: text.utf8CodeUnitCount) { $0.adding(text) } }

    /// Writes an integer in decimal, at most 20 bytes with the sign.
    @inline(__always)
    mutating func write(decimal integer: Int64) {
        if integer < 0 { write(UInt8(ascii: "-")) }
        write(digits: integer.magnitude)
    }

    private mutating func write(digits number: UInt64) { write(number, digits: number.decimalLength) }

    /// Writes the last digits of a number, with zeros before a shorter one.
    mutating func write(_ number: UInt64, digits length: Int) {
        // From last to first, in the order that division gives.
        write(atMost: length) { digits in
            var digit = digits + length
            var rest = number
            while digit > digits {
                digit -= 1
                digit.initialize(to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            }
            return digits + length
        }
    }
}

/// Functions that write one piece at the pointer and return the pointer after it.
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
    /// The number of decimal digits. The value must not exceed the magnitude of an `Int64`.
    fileprivate var decimalLength: Int {
        var length = 1
        var bound: UInt64 = 10
        while self >= bound {
            length += 1
            bound *= 10
        }
        return length
    }
}

extension [UInt8] {
    /// Appends the bytes that a closure writes.
    ///
    /// - Parameters:
    ///   - count: the maximum number of bytes.
    ///   - write: the closure that writes the bytes.
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
        // The variant without a copy needs Swift 6.3.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { buffer in
            guard let start = buffer.baseAddress else { return }
            var writer = ByteWriter(start..<(start + count))
            write(&writer)
            append(contentsOf: buffer[..<writer.count(from: start)])
        }
        #endif
    }

    /// Appends an integer in decimal.
    mutating func append(decimal integer: Int64) { append(atMost: 20) { $0.write(decimal: integer) } }
}
