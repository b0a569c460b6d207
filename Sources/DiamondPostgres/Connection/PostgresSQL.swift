#if Postgres && canImport(CDiamondPostgres)
import DiamondSQLite
package import Foundation

/// A statement with its values in place.
///
/// An interpolated value becomes a parameter, never text: `"DELETE FROM job WHERE id = \(id)"` is the SQL
/// `DELETE FROM job WHERE id = $1` and a value to bind. The text consists of literals only, and identifies the statement
/// among the prepared ones of a connection.
package struct PostgresSQL: ExpressibleByStringInterpolation, Sendable {
    /// A parameter in PostgreSQL's binary format.
    struct Parameter: Sendable {
        var type: PostgresType
        /// `nil` for NULL.
        var bytes: [UInt8]?
    }

    /// The texts before, between and after the values: one more than there are values.
    private var literals: [String]
    private(set) var parameters: [Parameter] = []

    package init(stringLiteral literal: StaticString) { literals = [literal.description] }

    /// The text, with `$1` for the first value, and so on.
    var text: String {
        var text = literals[0]
        for index in parameters.indices { text += "$\(index + 1)\(literals[index + 1])" }
        return text
    }

    private mutating func append(_ literal: String) { literals[literals.count - 1] += literal }

    private mutating func append(_ parameter: Parameter) {
        parameters.append(parameter)
        literals.append("")
    }

    package init(stringInterpolation: StringInterpolation) { self = stringInterpolation.sql }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql: PostgresSQL

        package init(literalCapacity: Int, interpolationCount: Int) {
            sql = ""
            sql.literals.reserveCapacity(interpolationCount + 1)
            sql.parameters.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: StaticString) { sql.append(literal.description) }

        package mutating func appendInterpolation<Value: PostgresBindable>(_ value: Value) { add(value) }

        package mutating func appendInterpolation<Value: PostgresBindable>(_ value: Value?) { add(value) }

        /// Appends the rows of a batch: one parameter for a whole column, to be used with `unnest`.
        package mutating func appendInterpolation<Value: PostgresBindable>(_ values: [Value]) {
            append(values.map(Optional.some))
        }

        package mutating func appendInterpolation<Value: PostgresBindable>(_ values: [Value?]) { append(values) }

        /// Appends a part of a statement with its values.
        package mutating func appendInterpolation(_ part: PostgresSQL) {
            for (literal, parameter) in zip(part.literals, part.parameters) {
                sql.append(literal)
                sql.append(parameter)
            }
            if let last = part.literals.last { sql.append(last) }
        }

        private mutating func add<Value: PostgresBindable>(_ value: Value?) {
            sql.append(
                Parameter(
                    type: Value.postgresType,
                    bytes: value.map { value in
                        var bytes: [UInt8] = []
                        value.append(to: &bytes)
                        return bytes
                    }))
        }

        /// Appends an array in PostgreSQL's binary format: the number of dimensions, whether it has NULLs, the type of
        /// the elements, the size and the lower bound of the dimension, and each element after its length.
        private mutating func append<Value: PostgresBindable>(_ values: [Value?]) {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: Int32(values.isEmpty ? 0 : 1))
            bytes.append(bigEndian: Int32(values.contains { $0 == nil } ? 1 : 0))
            bytes.append(bigEndian: Int32(bitPattern: Value.postgresType.rawValue))
            if !values.isEmpty {
                bytes.append(bigEndian: Int32(clamping: values.count))
                bytes.append(bigEndian: Int32(1))
            }
            for value in values {
                let start = bytes.count
                bytes.append(bigEndian: Int32(-1))
                guard let value else { continue }
                value.append(to: &bytes)
                bytes.set(bigEndian: Int32(clamping: bytes.count - start - 4), at: start)
            }
            sql.append(Parameter(type: Value.postgresType.array, bytes: bytes))
        }
    }
}

/// The object id of a type in PostgreSQL's catalog (pg_type.dat).
package struct PostgresType: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    static let bool = PostgresType(rawValue: 16)
    static let bytea = PostgresType(rawValue: 17)
    static let bigint = PostgresType(rawValue: 20)
    static let text = PostgresType(rawValue: 25)

    /// The type of arrays of this type.
    var array: PostgresType {
        switch self {
        case .bool: PostgresType(rawValue: 1000)
        case .bytea: PostgresType(rawValue: 1001)
        case .bigint: PostgresType(rawValue: 1016)
        default: PostgresType(rawValue: 1009)
        }
    }
}

/// A value that can be a parameter of a statement.
package protocol PostgresBindable {
    static var postgresType: PostgresType { get }
    /// Appends the value in PostgreSQL's binary format.
    func append(to bytes: inout [UInt8])
}

extension Int64: PostgresBindable {
    package static var postgresType: PostgresType { .bigint }
    package func append(to bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
}

extension Int: PostgresBindable {
    package static var postgresType: PostgresType { .bigint }
    package func append(to bytes: inout [UInt8]) { bytes.append(bigEndian: Int64(self)) }
}

extension Bool: PostgresBindable {
    package static var postgresType: PostgresType { .bool }
    package func append(to bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }
}

extension String: PostgresBindable {
    package static var postgresType: PostgresType { .text }
    /// Texts of PostgreSQL cannot contain the character zero.
    package func append(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: utf8.contains(0) ? replacing("\0", with: "\u{FFFD}").utf8 : utf8)
    }
}

extension Data: PostgresBindable {
    package static var postgresType: PostgresType { .bytea }
    package func append(to bytes: inout [UInt8]) { bytes.append(contentsOf: self) }
}

extension [UInt8] {
    fileprivate mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    fileprivate mutating func set(bigEndian number: Int32, at index: Int) {
        Swift.withUnsafeBytes(of: number.bigEndian) { replaceSubrange(index..<index + 4, with: $0) }
    }
}
#endif
