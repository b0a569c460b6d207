public import Foundation

/// A statement with its values in place.
///
/// An interpolated value becomes a parameter, never text: `"DELETE FROM job WHERE id = \(id)"` is the SQL
/// `DELETE FROM job WHERE id = ?` and a value to bind. The text consists of literals only. Their addresses identify
/// the statement in a connection's cache, so that no text is composed for a statement that was prepared before.
///
/// Inlinable, because a call for each value, with a copy of it, costs more than binding it. `public`, because Swift 6.3
/// does not inline `package` functions. No product exports this module.
///
/// `@unchecked Sendable`: the addresses are those of literals, which nothing changes or deallocates.
public struct SQL: ExpressibleByStringInterpolation, @unchecked Sendable {
    @usableFromInline enum Value {
        /// No value: a literal follows a literal.
        case none
        case null
        case integer(Int64)
        case string(String)
        case bytes([UInt8], isText: Bool)
        case blob(Data)
        /// Bytes that ``SQLiteConnection/run(_:)`` does not copy.
        case lent(Data)
    }

    /// A value, and the address of the literal before it; `nil` for none.
    @usableFromInline struct Piece {
        @usableFromInline var literal: UnsafePointer<UInt8>?
        @usableFromInline var value: Value

        @inlinable init(literal: UnsafePointer<UInt8>? = nil, value: Value = .none) {
            self.literal = literal
            self.value = value
        }

        /// The address, with the highest bit set if there is no value.
        var mark: UInt {
            let address = UInt(bitPattern: literal)
            return if case .none = value { address | 1 << (UInt.bitWidth - 1) } else { address }
        }
    }

    @usableFromInline var count = 0
    /// The first two pieces. They are not in the array, because most statements have one value or two, and an
    /// allocation takes longer than binding them.
    @usableFromInline var first = Piece()
    @usableFromInline var second = Piece()
    @usableFromInline var rest: [Piece] = []
    /// The address of the literal after the last value; `nil` for none.
    @usableFromInline var tail: UnsafePointer<UInt8>?
    @usableFromInline var isLending = false
    /// A hash of the addresses of all literals.
    @usableFromInline var hash: UInt64 = 0

    @inlinable @inline(__always) init(capacity: Int) {
        if capacity > 2 { rest.reserveCapacity(capacity - 2) }
    }

    /// Creates a statement without values.
    @inlinable @inline(__always) public init(stringLiteral literal: StaticString) { add(literal.utf8Start) }

    @inlinable @inline(__always) public init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.sql
    }

    /// The bytes that ``SQLiteConnection/run(_:)`` does not copy, and the number of their parameter; `nil` for none.
    var lent: (bytes: Data, place: Int32)? {
        guard isLending else { return nil }
        var place: Int32 = 0
        for piece in pieces {
            if case .none = piece.value { continue }
            place += 1
            if case .lent(let bytes) = piece.value { return (bytes, place) }
        }
        return nil
    }

    private var pieces: [Piece] { [first, second].prefix(count) + rest }

    /// The text, with `?` for each value.
    package var text: String {
        func text(_ literal: UnsafePointer<UInt8>?) -> String { literal.map { String(cString: $0) } ?? "" }
        return pieces.reduce(into: "") { (result, piece) in
            result += text(piece.literal)
            if case .none = piece.value {} else { result += "?" }
        } + text(tail)
    }

    /// The addresses of the literals, and where values are. Statements with the same marks have the same text.
    var marks: [UInt] { [UInt(bitPattern: tail)] + pieces.map(\.mark) }

    @inline(__always) func hasMarks(_ marks: [UInt]) -> Bool {
        guard marks.count == count + 1, marks[0] == UInt(bitPattern: tail) else { return false }
        if count > 0, marks[1] != first.mark { return false }
        if count > 1, marks[2] != second.mark { return false }
        for index in rest.indices where marks[index + 3] != rest[index].mark { return false }
        return true
    }

    /// Appends a part of a statement with its values.
    package mutating func append(_ part: SQL) {
        for piece in part.pieces {
            if let literal = piece.literal { add(literal) }
            if case .none = piece.value {} else { add(piece.value) }
        }
        if let tail = part.tail { add(tail) }
        isLending = isLending || part.isLending
    }

    @inlinable @inline(__always) mutating func add(_ value: Value) {
        let piece = Piece(literal: tail, value: value)
        tail = nil
        switch count {
        case 0: first = piece
        case 1: second = piece
        default: rest.append(piece)
        }
        count += 1
    }

    @inlinable @inline(__always) mutating func add(_ literal: UnsafePointer<UInt8>) {
        // Fibonacci hashing (Knuth, TAOCP 3, 6.4): addresses of literals differ in few bits.
        let mixed = (hash ^ UInt64(UInt(bitPattern: literal))) &* 0x9E37_79B9_7F4A_7C15
        hash = mixed << 32 | mixed >> 32
        if tail != nil { add(.none) }
        tail = literal
    }

    public struct StringInterpolation: StringInterpolationProtocol {
        @usableFromInline var sql: SQL

        @inlinable @inline(__always) public init(literalCapacity: Int, interpolationCount: Int) {
            sql = SQL(capacity: interpolationCount)
        }

        @inlinable @inline(__always) public mutating func appendLiteral(_ literal: StaticString) {
            if literal.utf8CodeUnitCount > 0 { sql.add(literal.utf8Start) }
        }

        @inlinable @inline(__always) public mutating func appendInterpolation(_ value: Int64) {
            sql.add(.integer(value))
        }
        @inlinable @inline(__always) public mutating func appendInterpolation(_ value: Int64?) {
            sql.add(value.map { .integer($0) } ?? .null)
        }
        @inlinable @inline(__always) public mutating func appendInterpolation(_ value: Int) {
            sql.add(.integer(Int64(value)))
        }
        @inlinable @inline(__always) public mutating func appendInterpolation(_ value: Int?) {
            appendInterpolation(value.map { Int64($0) })
        }
        /// Appends 1 or 0.
        @inlinable @inline(__always) public mutating func appendInterpolation(_ value: Bool) {
            sql.add(.integer(value ? 1 : 0))
        }
        @inlinable @inline(__always) public mutating func appendInterpolation(_ value: String) {
            sql.add(.string(value))
        }
        @inlinable @inline(__always) public mutating func appendInterpolation(_ value: String?) {
            sql.add(value.map { .string($0) } ?? .null)
        }
        @inlinable @inline(__always) public mutating func appendInterpolation(_ value: Data) { sql.add(.blob(value)) }
        @inlinable @inline(__always) public mutating func appendInterpolation(_ value: Data?) {
            sql.add(value.map { .blob($0) } ?? .null)
        }
        /// Appends UTF-8 as text, or bytes as a blob.
        @inlinable @inline(__always) public mutating func appendInterpolation(_ value: [UInt8], isText: Bool) {
            sql.add(.bytes(value, isText: isText))
        }

        /// Appends bytes that are not copied: one value of a statement for ``SQLiteConnection/run(_:)``.
        @inlinable @inline(__always) public mutating func appendInterpolation(lending value: Data) {
            sql.add(.lent(value))
            sql.isLending = true
        }

        /// Appends a part of a statement with its values.
        package mutating func appendInterpolation(sql part: SQL) { sql.append(part) }
    }
}

extension [SQL] {
    package func joined(by separator: SQL) -> SQL {
        guard var joined = first else { return "" }
        for part in dropFirst() {
            joined.append(separator)
            joined.append(part)
        }
        return joined
    }
}
