extension QueryItems {
    /// Where an item stands in ``bytes``.
    struct Place {
        /// The whole item.
        fileprivate(set) var range: Range<Int>
        /// Of the `=`, or of what follows the item where there is none.
        fileprivate var nameEnd: Int
        /// The first eight bytes of the name, which put most names in order by themselves. No encoded name has a zero.
        fileprivate var beginning: UInt64 = 0
        /// A note of whoever goes through them.
        var isMarked = false

        var name: Range<Int> { range.lowerBound..<nameEnd }

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
            if count > 1 { places.sort { Self.precedes($0, $1, in: self.bytes) } }
            body(places)
        }
    }

    private static func place(at start: Int, in bytes: Span<UInt8>) -> Place {
        var (end, beginning) = (start, UInt64(0))
        while end < bytes.count, bytes[end] != UInt8(ascii: "="), bytes[end] != mark {
            if end - start < 8 { beginning = beginning << 8 | UInt64(bytes[end]) }
            end += 1
        }
        let nameEnd = end
        while end < bytes.count, bytes[end] != mark { end += 1 }
        beginning <<= UInt64(8 * max(0, 8 - (nameEnd - start)))
        return Place(range: start..<end, nameEnd: nameEnd, beginning: beginning)
    }

    private static func precedes(_ left: Place, _ right: Place, in bytes: [UInt8]) -> Bool {
        guard left.beginning == right.beginning else { return left.beginning < right.beginning }
        let (name, other) = (bytes[left.name], bytes[right.name])
        guard name != other else { return left.range.lowerBound < right.range.lowerBound }
        return name.lexicographicallyPrecedes(other)
    }
}
