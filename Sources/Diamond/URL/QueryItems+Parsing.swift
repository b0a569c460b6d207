extension QueryItems {
    /// An item's position in ``bytes``, with what is known about its name.
    struct ParsedItem {
        /// The range of the whole item.
        fileprivate(set) var range: Range<Int>
        /// The position of the `=`, or the item's end if there is none.
        fileprivate var nameEnd: Int
        /// The first eight bytes of the name. No encoded name contains a zero byte.
        fileprivate var beginning: UInt64
        /// The letters of the name.
        fileprivate(set) var letters: LetterSet
        /// Whether the canonical form leaves the item out.
        var isLeftOut = false
        var isSecret = false

        var name: Range<Int> { range.lowerBound..<nameEnd }

        /// The range after the `=`; empty if there is none.
        var value: Range<Int> { min(nameEnd + 1, range.upperBound)..<range.upperBound }

        /// Whether there is an `=`. An empty value counts as a value.
        var hasValue: Bool { nameEnd < range.upperBound }
    }

    /// Calls `body` with the items, sorted by name. Items with the same name keep their order, which may be significant
    /// to the server.
    ///
    /// Allocated on the stack, unless there are many items.
    func withSortedItems(_ body: (UnsafeMutableBufferPointer<ParsedItem>) -> Void) {
        withUnsafeTemporaryAllocation(of: ParsedItem.self, capacity: count) { buffer in
            var items = buffer
            let bytes = bytes.span
            var start = 0
            for index in items.indices {
                let item = Self.item(at: start, in: bytes)
                items.initializeElement(at: index, to: item)
                start = item.range.upperBound + 1
            }
            items.sortFew { Self.precedes($0, $1, in: bytes) }
            body(items)
        }
    }

    @inline(__always)
    private static func item(at start: Int, in bytes: Span<UInt8>) -> ParsedItem {
        let rest = bytes.extracting(start...)
        var end = 0
        var letters = LetterSet()
        while end < rest.count, rest[end] != UInt8(ascii: "="), rest[end] != separator {
            letters.insert(rest[end])
            end += 1
        }
        let nameEnd = end
        while end < rest.count, rest[end] != separator { end += 1 }
        return ParsedItem(
            range: start..<(start + end), nameEnd: start + nameEnd, beginning: rest.beginning(of: nameEnd),
            letters: letters)
    }

    private static func precedes(_ left: ParsedItem, _ right: ParsedItem, in bytes: Span<UInt8>) -> Bool {
        guard left.beginning == right.beginning else { return left.beginning < right.beginning }
        guard let isBefore = bytes.precedes(left.name, other: right.name) else {
            return left.range.lowerBound < right.range.lowerBound
        }
        return isBefore
    }
}
