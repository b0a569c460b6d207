#if Tools
/// Finds the end of a chunked body (RFC 9112 section 7.1), and limits what is not its data. swift-nio's parser reads
/// the chunks themselves.
struct ChunkScanner {
    private enum State {
        /// The line of a chunk's size, after a number of digits.
        case size(Int64, digits: Int)
        /// The rest of that line.
        case sizeEnd(Int64)
        case data(Int64)
        /// At the line end after the data.
        case dataEnd
        /// At the beginning of a line of the trailers.
        case line
        case trailer
    }

    /// The maximum number of bytes of extensions and of trailers. As in Go's `net/http`, each chunk may have 16 bytes
    /// more, and 2 for each byte of its data.
    private static let limit: Int64 = 16 << 10

    private var state = State.size(0, digits: 0)
    /// The number of bytes of extensions and of trailers that count for the limit.
    private var excess: Int64 = 0
    private(set) var isAtEnd = false

    /// Returns the number of bytes that belong to the body; `nil` if the chunks are malformed.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var index = 0
        while index < bytes.count, !isAtEnd {
            if case .data(let missing) = state {
                let count = Int(min(missing, Int64(bytes.count - index)))
                index += count
                state = missing == Int64(count) ? .dataEnd : .data(missing - Int64(count))
                continue
            }
            guard read(bytes[index]) else { return nil }
            index += 1
        }
        return index
    }

    private mutating func read(_ byte: UInt8) -> Bool {
        switch state {
        case .size(let size, let digits):
            if let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 {
                state = .size(size << 4 | Int64(digit), digits: digits + 1)
                return digits < 15
            }
            state = .sizeEnd(size)
            return digits > 0 && (byte != 0x0A || read(byte))
        case .sizeEnd(let size):
            excess += 1
            guard byte == 0x0A else { return excess <= Self.limit }
            excess = max(0, excess - 16 - 2 * size)
            state = size > 0 ? .data(size) : .line
        case .data: break
        case .dataEnd: if byte == 0x0A { state = .size(0, digits: 0) } else { return byte == 0x0D }
        case .line: if byte == 0x0A { isAtEnd = true } else if byte != 0x0D { state = .trailer }
        case .trailer:
            excess += 1
            if byte == 0x0A { state = .line }
            return excess <= Self.limit
        }
        return true
    }
}
#endif
