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

    /// Whether ASCII letters are those of a word in lower case, whatever their case.
    func isEqual(_ range: Range<Int>, to word: StaticString) -> Bool {
        guard range.count == word.utf8CodeUnitCount else { return false }
        return word.withUTF8Buffer { word in
            for index in word.indices where self[range.lowerBound + index] | 0x20 != word[index] { return false }
            return true
        }
    }

    /// A copy of their own.
    func array(_ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(self, range)
        return bytes
    }
}

extension [UInt8] {
    mutating func append(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        bytes.extracting(range).withUnsafeBufferPointer { append(contentsOf: $0) }
    }
}
