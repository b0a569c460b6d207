extension JSONWriter {
    /// The place of a member in the text. Sorting moves places, and the members at the end.
    struct Member {
        /// The offset of the comma before the member.
        let start: Int
        /// The first eight bytes of the name.
        let beginning: UInt64
        /// The offset after the member.
        fileprivate var end = 0

        init(start: Int, beginning: UInt64) {
            self.start = start
            self.beginning = beginning
        }
    }
}

extension JSONWriter.Member {
    /// Sorts the last members, which are at the end of a text, by the UTF-16 code units of their names.
    ///
    /// - Returns: Whether all names differ.
    static func sort(_ members: inout [Self], from first: Int, in text: inout [UInt8]) -> Bool {
        text.withUnsafeMutableBytes { text in
            members.withUnsafeMutableBufferPointer { members in
                var members = UnsafeMutableBufferPointer(rebasing: members[first...])
                var areDifferent = true
                func precedes(_ left: Self, _ right: Self) -> Bool {
                    let order = left.order(before: right, in: UnsafeRawBufferPointer(text))
                    if order == .same { areDifferent = false }
                    return order == .before
                }
                let start = members[0].start
                var isSorted = true
                for index in 1..<members.count {
                    members[index - 1].end = members[index].start
                    if isSorted { isSorted = !precedes(members[index], members[index - 1]) }
                }
                if isSorted { return areDifferent }
                members[members.count - 1].end = text.count
                members.sortFew(by: precedes)
                arrange(members, in: text, from: start)
                return areDifferent
            }
        }
    }

    /// Puts the members of a text in a new order.
    private static func arrange(
        _ members: UnsafeMutableBufferPointer<Self>, in text: UnsafeMutableRawBufferPointer, from start: Int
    ) {
        let region = UnsafeMutableRawBufferPointer(rebasing: text[start...])
        withUnsafeTemporaryAllocation(byteCount: region.count, alignment: 1) { copy in
            copy.copyMemory(from: UnsafeRawBufferPointer(region))
            var next = 0
            for member in members {
                let bytes = copy[(member.start - start)..<(member.end - start)]
                UnsafeMutableRawBufferPointer(rebasing: region[next...]).copyMemory(from: .init(rebasing: bytes))
                next += bytes.count
            }
        }
    }

    private enum Order { case before, same, after }

    private func order(before other: Self, in text: UnsafeRawBufferPointer) -> Order {
        let differing = (beginning ^ other.beginning).leadingZeroBitCount
        guard differing < 64 else { return nameOrder(before: other, in: text) }
        let shift = UInt64(56 - differing / 8 * 8)
        return Self.order(
            UInt8(truncatingIfNeeded: beginning >> shift), before: UInt8(truncatingIfNeeded: other.beginning >> shift))
    }

    /// Compares whole names as they are in the text.
    private func nameOrder(before other: Self, in text: UnsafeRawBufferPointer) -> Order {
        var (left, right) = (start + 2, other.start + 2)
        while text[left] == text[right], text[left] != UInt8(ascii: "\\") {
            if text[left] == UInt8(ascii: "\"") { return .same }
            left += 1
            right += 1
        }
        if text[left] == UInt8(ascii: "\\") || text[right] == UInt8(ascii: "\\") {
            return Self.order(name(in: text), before: other.name(in: text))
        }
        if text[left] == UInt8(ascii: "\"") { return .before }
        if text[right] == UInt8(ascii: "\"") { return .after }
        return Self.order(text[left], before: text[right])
    }

    private func name(in text: UnsafeRawBufferPointer) -> String {
        var end = start + 2
        while text[end] != UInt8(ascii: "\"") { end += text[end] == UInt8(ascii: "\\") ? 2 : 1 }
        return JSONEscapes.decoded(UnsafeRawBufferPointer(rebasing: text[(start + 2)..<end]))
    }

    private static func order(_ left: String, before right: String) -> Order {
        var (left, right) = (left.utf8.makeIterator(), right.utf8.makeIterator())
        while let byte = right.next() {
            guard let other = left.next() else { return .before }
            if byte != other { return order(other, before: byte) }
        }
        return left.next() == nil ? .same : .after
    }

    /// Compares UTF-8 bytes in the order of UTF-16 code units. The orders differ only between characters beyond the
    /// Basic Multilingual Plane (lead bytes F0 to F4), whose surrogates come first, and those from U+E000 (EE, EF).
    private static func order(_ left: UInt8, before right: UInt8) -> Order {
        weight(left) < weight(right) ? .before : .after
    }

    private static func weight(_ byte: UInt8) -> UInt8 { byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte }
}

/// The name of a member as JSON text, prepared for writing it often.
package struct JSONName: Sendable {
    /// The comma before the member, the quoted name, and the colon.
    let bytes: [UInt8]
    /// The first eight bytes of the name.
    let beginning: UInt64

    package init(_ name: String) {
        var writer = JSONWriter()
        writer.beginMember(name)
        bytes = writer.bytes
        beginning = name.withBytes { $0.beginning(of: $0.count) }
    }
}
