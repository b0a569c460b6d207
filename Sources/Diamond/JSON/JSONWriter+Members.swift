extension JSONWriter {
    /// A member of an object, prepared for sorting.
    struct Member {
        let name: String
        let value: JSONValue
        /// The first eight bytes of the name.
        private let beginning: UInt64

        private init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
            beginning = name.withBytes { $0.beginning(of: $0.count) }
        }

        /// Calls `body` with each member of an object, sorted by the UTF-16 code units of the names.
        ///
        /// Allocated on the stack, unless there are many members.
        static func withSorted(
            _ members: [String: JSONValue],
            perform body: (Member) throws(JSONError) -> Void
        ) throws(JSONError) {
            try withUnsafeTemporaryAllocation(of: Member.self, capacity: members.count) { buffer in
                var sorted = buffer
                for (index, member) in members.enumerated() {
                    sorted.initializeElement(at: index, to: Member(name: member.key, value: member.value))
                }
                defer { _ = sorted.deinitialize() }
                sorted.sortFew(by: precedes)
                return Result { () throws(JSONError) in
                    for index in sorted.indices { try body(sorted[index]) }
                }
            }.get()
        }

        private static func precedes(_ left: Member, _ right: Member) -> Bool {
            let differing = (left.beginning ^ right.beginning).leadingZeroBitCount
            guard differing < 64 else { return precedes(left.name, right.name) }
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
