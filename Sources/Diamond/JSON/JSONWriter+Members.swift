extension JSONWriter {
    /// The place of an object's member, prepared for sorting: moving it moves no name and no value.
    struct Member {
        private let index: Dictionary<String, JSONValue>.Index
        /// The first eight bytes of the name.
        private let beginning: UInt64

        /// Calls `body` with each member of an object, sorted by the UTF-16 code units of the names.
        ///
        /// Allocated on the stack, unless there are many members.
        static func withSorted(
            _ members: [String: JSONValue],
            perform body: (_ name: String, _ value: JSONValue) throws(JSONError) -> Void
        ) throws(JSONError) {
            try withUnsafeTemporaryAllocation(of: Member.self, capacity: members.count) { buffer in
                var sorted = buffer
                for (place, index) in members.indices.enumerated() {
                    let beginning = members.keys[index].withBytes { $0.beginning(of: $0.count) }
                    sorted.initializeElement(at: place, to: Member(index: index, beginning: beginning))
                }
                defer { _ = sorted.deinitialize() }
                sorted.sortFew { precedes($0, $1, in: members) }
                return Result { () throws(JSONError) in
                    for member in sorted { try body(members[member.index].key, members[member.index].value) }
                }
            }.get()
        }

        private static func precedes(_ left: Member, _ right: Member, in members: [String: JSONValue]) -> Bool {
            let differing = (left.beginning ^ right.beginning).leadingZeroBitCount
            guard differing < 64 else { return precedes(members[left.index].key, members[right.index].key) }
            let shift = UInt64(56 - differing / 8 * 8)
            return weight(UInt8(truncatingIfNeeded: left.beginning >> shift))
                < weight(UInt8(truncatingIfNeeded: right.beginning >> shift))
        }

        /// Compares UTF-8 bytes in the order of UTF-16 code units. The orders differ only between characters beyond the
        /// Basic Multilingual Plane (lead bytes F0 to F4), whose surrogates come first, and those from U+E000 (EE, EF).
        private static func precedes(_ left: String, _ right: String) -> Bool {
            var (left, right) = (left.utf8.makeIterator(), right.utf8.makeIterator())
            while let byte = right.next() {
                guard let other = left.next() else { return true }
                if byte != other { return weight(other) < weight(byte) }
            }
            return false
        }

        private static func weight(_ byte: UInt8) -> UInt8 { byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte }
    }
}
