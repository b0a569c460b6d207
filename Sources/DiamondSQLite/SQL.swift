package import Foundation

/// A statement with its values in place.
///
/// An interpolated value becomes a parameter, never text: `"DELETE FROM job WHERE id = \(id)"` is the SQL
/// `DELETE FROM job WHERE id = ?` and a value to bind. The text consists of literals only. Their addresses identify
/// the statement in a connection's cache, so that no text is composed for a statement that was prepared before.
///
/// `@unchecked Sendable`: the addresses are those of literals, which nothing changes or deallocates.
package struct SQL: ExpressibleByStringInterpolation, @unchecked Sendable {
    enum Value {
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
    struct Piece {
        var literal: UnsafePointer<UInt8>?
        var value: Value

        /// The address, with the highest bit set if there is no value.
        var mark: UInt {
            let address = UInt(bitPattern: literal)
            return if case .none = value { address | 1 << (UInt.bitWidth - 1) } else { address }
        }
    }

    /// The first value. It is not in the array, because the statement of a lookup has one value, and an allocation
    /// would take a twentieth of its time.
    private(set) var first: Piece?
    private(set) var rest: [Piece] = []
    /// The address of the literal after the last value; `nil` for none.
    private var tail: UnsafePointer<UInt8>?
    private var isLending = false
    /// A hash of the addresses of all literals.
    private(set) var hash: UInt64 = 0

    /// Creates a statement without values.
    package init(stringLiteral literal: StaticString) { add(literal.utf8Start) }

    package init(stringInterpolation: StringInterpolation) { self = stringInterpolation.sql }

    private init(capacity: Int) {
        if capacity > 1 { rest.reserveCapacity(capacity - 1) }
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

    private var pieces: [Piece] { first.map { [$0] + rest } ?? [] }

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

    func hasMarks(_ marks: [UInt]) -> Bool {
        guard marks[0] == UInt(bitPattern: tail), marks.count == (first == nil ? 1 : rest.count + 2) else {
            return false
        }
        guard let first else { return true }
        return marks[1] == first.mark && rest.indices.allSatisfy { rest[$0].mark == marks[$0 + 2] }
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

    private mutating func add(_ value: Value) {
        let piece = Piece(literal: tail, value: value)
        tail = nil
        if first == nil { first = piece } else { rest.append(piece) }
    }

    private mutating func add(_ literal: UnsafePointer<UInt8>) {
        // Fibonacci hashing (Knuth, TAOCP 3, 6.4): addresses of literals differ in few bits.
        let mixed = (hash ^ UInt64(UInt(bitPattern: literal))) &* 0x9E37_79B9_7F4A_7C15
        hash = mixed << 32 | mixed >> 32
        if tail != nil { add(.none) }
        tail = literal
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql: SQL

        package init(literalCapacity: Int, interpolationCount: Int) { sql = SQL(capacity: interpolationCount) }

        package mutating func appendLiteral(_ literal: StaticString) {
            if literal.utf8CodeUnitCount > 0 { sql.add(literal.utf8Start) }
        }

        package mutating func appendInterpolation(_ value: Int64) { sql.add(.integer(value)) }
        package mutating func appendInterpolation(_ value: Int64?) { sql.add(value.map { .integer($0) } ?? .null) }
        package mutating func appendInterpolation(_ value: Int) { sql.add(.integer(Int64(value))) }
        package mutating func appendInterpolation(_ value: Int?) { appendInterpolation(value.map { Int64($0) }) }
        /// Appends 1 or 0.
        package mutating func appendInterpolation(_ value: Bool) { sql.add(.integer(value ? 1 : 0)) }
        package mutating func appendInterpolation(_ value: String) { sql.add(.string(value)) }
        package mutating func appendInterpolation(_ value: String?) { sql.add(value.map { .string($0) } ?? .null) }
        package mutating func appendInterpolation(_ value: Data) { sql.add(.blob(value)) }
        package mutating func appendInterpolation(_ value: Data?) { sql.add(value.map { .blob($0) } ?? .null) }
        /// Appends UTF-8 as text, or bytes as a blob.
        package mutating func appendInterpolation(_ value: [UInt8], isText: Bool) {
            sql.add(.bytes(value, isText: isText))
        }

        /// Appends bytes that are not copied: one value of a statement for ``SQLiteConnection/run(_:)``.
        package mutating func appendInterpolation(lending value: Data) {
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
