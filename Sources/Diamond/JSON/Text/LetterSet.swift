/// A set of the letters of a name, one bit each. It quickly rules out most names that do not contain a given word.
///
/// Upper and lower case share a bit. Some other characters share a bit with a letter.
struct LetterSet: Hashable, Sendable {
    private var bits: UInt32 = 0

    init() {}

    @inline(__always)
    init(of bytes: Span<UInt8>) { for index in bytes.indices { insert(bytes[index]) } }

    @inline(__always)
    mutating func insert(_ byte: UInt8) { bits |= Self.bit(of: byte) }

    @inline(__always)
    mutating func formUnion(_ other: LetterSet) { bits |= other.bits }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool { bits & Self.bit(of: byte) != 0 }

    @inline(__always)
    func isDisjoint(with other: LetterSet) -> Bool { bits & other.bits == 0 }

    @inline(__always)
    func isSubset(of other: LetterSet) -> Bool { bits & ~other.bits == 0 }

    @inline(__always)
    private static func bit(of byte: UInt8) -> UInt32 { 1 << UInt32(byte & 31) }
}
