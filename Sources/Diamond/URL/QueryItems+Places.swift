extension QueryItems {
    /// The place of an item in ``bytes``.
    struct Place {
        /// The whole item.
        fileprivate(set) var range: Range<Int>
        /// The position of the `=`, or of the item's end where there is none.
        fileprivate var nameEnd: Int
        /// The beginning of the name. No encoded name has a zero.
        fileprivate var beginning: UInt64
        /// The letters of the name.
        fileprivate(set) var letters: LetterSet
        /// Notes for the code that goes through the items.
        var isLeftOut = false
        var isSecret = false

        var name: Range<Int> { range.lowerBound..<nameEnd }

        /// The range behind the `=`, empty where there is none.
        var value: Range<Int> { min(nameEnd + 1, range.upperBound)..<range.upperBound }

        /// Whether there is an `=`: an empty value is not none.
        var hasValue: Bool { nameEnd < range.upperBound }
    }

    /// Calls `body` with the places of the items, sorted by name; values of one name keep their order, which may mean
    /// something to the server.
    ///
    /// On the stack, unless there are many.
    func withSortedPlaces(_ body: (UnsafeMutableBufferPointer<Place>) -> Void) {
        withUnsafeTemporaryAllocation(of: Place.self, capacity: count) { buffer in
            var places = buffer
            let bytes = bytes.span
            var start = 0
            for index in places.indices {
                let place = Self.place(at: start, in: bytes)
                places.initializeElement(at: index, to: place)
                start = place.range.upperBound + 1
            }
            places.sortFew { Self.precedes($0, $1, in: bytes) }
            body(places)
        }
    }

    @inline(__always)
    private static func place(at start: Int, in bytes: Span<UInt8>) -> Place {
        let rest = bytes.extracting(start...)
        var (end, letters) = (0, LetterSet())
        while end < rest.count, rest[end] != UInt8(ascii: "="), rest[end] != mark {
            letters.insert(rest[end])
            end += 1
        }
        let nameEnd = end
        while end < rest.count, rest[end] != mark { end += 1 }
        return Place(
            range: start..<(start + end), nameEnd: start + nameEnd, beginning: rest.beginning(of: nameEnd),
            letters: letters)
    }

    private static func precedes(_ left: Place, _ right: Place, in bytes: Span<UInt8>) -> Bool {
        guard left.beginning == right.beginning else { return left.beginning < right.beginning }
        guard let isBefore = bytes.precedes(left.name, right.name) else {
            return left.range.lowerBound < right.range.lowerBound
        }
        return isBefore
    }
}
