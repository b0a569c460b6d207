extension String {
    /// Calls `body` with the UTF-8 bytes of the string, without copying them.
    ///
    /// `withUTF8` needs a mutable copy, which would be retained and released for every piece of every request.
    @inline(__always)
    func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body($0.span) }) { return result }
        var text = self
        return text.withUTF8 { body($0.span) }
    }
}

/// Searches and comparisons of bytes without a copy.
extension Span<UInt8> {
    func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int? {
        for index in range where self[index] == byte { return index }
        return nil
    }

    func lastIndex(of byte: UInt8, in range: Range<Int>) -> Int? {
        for index in range.reversed() where self[index] == byte { return index }
        return nil
    }

    func contains(_ byte: UInt8) -> Bool { firstIndex(of: byte, in: indices) != nil }

    func allSatisfy(in range: Range<Int>, _ predicate: (UInt8) -> Bool) -> Bool {
        for index in range where !predicate(self[index]) { return false }
        return true
    }

    func begins(with word: StaticString) -> Bool {
        guard word.utf8CodeUnitCount <= count else { return false }
        for index in 0..<word.utf8CodeUnitCount where self[index] != word.utf8Start[index] { return false }
        return true
    }

    /// Whether the bytes of a range equal a word in lower-case letters. The case of the bytes is ignored.
    func isEqual(_ range: Range<Int>, to word: StaticString) -> Bool {
        guard range.count == word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { word in
            for index in word.indices where self[range.lowerBound + index] | 0x20 != word[index] { return false }
            return true
        }
    }

    /// Returns the first eight bytes as a big-endian number, padded with zeros. Most names can be sorted by it alone.
    ///
    /// - Parameter length: the length of the name at the start of the bytes.
    @inline(__always)
    func beginning(of length: Int) -> UInt64 {
        let missing = 64 - 8 * Swift.min(length, 8)
        guard count >= 8 else { return (0..<length).reduce(0) { $0 << 8 | UInt64(self[$1]) } << missing }
        let first = bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self)
        return (UInt64(bigEndian: first) >> missing) << missing
    }

    /// Whether the bytes of one range are ordered before those of another; `nil` if they are equal.
    func precedes(_ range: Range<Int>, other: Range<Int>) -> Bool? {
        for (index, otherIndex) in zip(range, other) where self[index] != self[otherIndex] {
            return self[index] < self[otherIndex]
        }
        return range.count == other.count ? nil : range.count < other.count
    }

    /// Returns a copy of a range.
    func array(_ range: Range<Int>) -> [UInt8] { extracting(range).withUnsafeBufferPointer { Array($0) } }

    @inline(__always)
    func copy(to target: UnsafeMutablePointer<UInt8>) {
        withUnsafeBufferPointer { bytes in
            if let first = bytes.baseAddress { target.initialize(from: first, count: bytes.count) }
        }
    }
}

extension [UInt8] {
    mutating func append(_ bytes: Span<UInt8>, in range: Range<Int>) {
        bytes.extracting(range).withUnsafeBufferPointer { append(contentsOf: $0) }
    }
}

extension UnsafeMutableBufferPointer {
    /// Sorts a few elements by insertion, because the setup of `sort` costs more. More than 16 are sorted by `sort`.
    @inline(__always)
    mutating func sortFew(by precedes: (Element, Element) -> Bool) {
        guard count <= 16 else { return sort(by: precedes) }
        for end in indices.dropFirst() where precedes(self[end], self[end - 1]) {
            let element = self[end]
            var index = end
            repeat {
                self[index] = self[index - 1]
                index -= 1
            } while index > 0 && precedes(element, self[index - 1])
            self[index] = element
        }
    }
}
