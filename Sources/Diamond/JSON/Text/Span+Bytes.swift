extension String {
    /// Calls `body` with the bytes of the text where they stand.
    ///
    /// A copy for `withUTF8` would be counted in and out for every piece of every request.
    @inline(__always)
    func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body($0.span) }) { return result }
        var text = self
        return text.withUTF8 { body($0.span) }
    }
}

/// Bytes that are looked at where they stand, without a copy.
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

    func allSatisfy(in range: Range<Int>, _ isGood: (UInt8) -> Bool) -> Bool {
        for index in range where !isGood(self[index]) { return false }
        return true
    }

    func begins(with word: StaticString) -> Bool {
        guard word.utf8CodeUnitCount <= count else { return false }
        for index in 0..<word.utf8CodeUnitCount where self[index] != word.utf8Start[index] { return false }
        return true
    }

    /// Whether ASCII letters are those of a word in lower case, whatever their case.
    func isEqual(_ range: Range<Int>, to word: StaticString) -> Bool {
        guard range.count == word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { word in
            for index in word.indices where self[range.lowerBound + index] | 0x20 != word[index] { return false }
            return true
        }
    }

    /// The first of the bytes, eight at most, as a number, with zeros behind fewer: puts most names in order by itself.
    ///
    /// - Parameter length: of the name that they begin with.
    @inline(__always)
    func beginning(of length: Int) -> UInt64 {
        let missing = 64 - 8 * Swift.min(length, 8)
        guard count >= 8 else { return (0..<length).reduce(0) { $0 << 8 | UInt64(self[$1]) } << missing }
        let first = bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self)
        return (UInt64(bigEndian: first) >> missing) << missing
    }

    /// Whether the bytes of one range come before those of another; `nil` where they are equal.
    func precedes(_ range: Range<Int>, _ other: Range<Int>) -> Bool? {
        for (index, otherIndex) in zip(range, other) where self[index] != self[otherIndex] {
            return self[index] < self[otherIndex]
        }
        return range.count == other.count ? nil : range.count < other.count
    }

    /// A copy of their own.
    func array(_ range: Range<Int>) -> [UInt8] { extracting(range).withUnsafeBufferPointer { Array($0) } }

    @inline(__always)
    func copy(to place: UnsafeMutablePointer<UInt8>) {
        withUnsafeBufferPointer { bytes in
            if let first = bytes.baseAddress { place.initialize(from: first, count: bytes.count) }
        }
    }
}

extension [UInt8] {
    mutating func append(_ bytes: Span<UInt8>, in range: Range<Int>) {
        bytes.extracting(range).withUnsafeBufferPointer { append(contentsOf: $0) }
    }
}

extension UnsafeMutableBufferPointer {
    /// Sorts by insertion where there are few, as almost always: the preparations of `sort` cost more than that.
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
