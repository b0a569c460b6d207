package import DiamondSQLite
import DiamondSchema

/// The schema of a file: tables by their columns, indexes and triggers by their definitions.
package struct CacheSchema: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable { case table, view, index, trigger }

    package struct Part: Hashable, Sendable {
        package var kind: Kind
        package var name: String
        /// The SQL that creates it, as it was written.
        package var sql: String
        /// The text to compare: for a table its columns, otherwise the SQL without comments and line breaks. The SQL of
        /// a migrated table differs from that of a new one.
        package var meaning: String

        package var title: String { "the \(kind) \(name)" }
    }

    /// A difference from the expected schema.
    package struct Fault: Hashable, Sendable {
        package enum Cause: Hashable, Sendable {
            case missing
            /// A different part has the name.
            case changed
            case surplus
        }

        package var cause: Cause
        /// The expected part, or the surplus part.
        package var part: Part

        package var what: String {
            switch cause {
            case .missing: "\(part.title) is missing"
            case .changed where part.kind == .table: "\(part.title) has other columns"
            case .changed: "\(part.title) has another definition"
            case .surplus: "\(part.title) is not part of the schema"
            }
        }
    }

    package var parts: [Part]

    /// Returns the schema of a store of this version.
    package static func expected() throws(SQLiteError) -> CacheSchema {
        try SQLiteDatabase.inMemory(configuration: DiamondSchema.cache, CacheTable.schema)
    }

    /// Returns the faults: surplus parts first, and tables before the indexes and triggers that depend on them.
    package func faults(comparedTo expected: CacheSchema) -> [Fault] {
        let surplus = parts.filter { part in !expected.parts.contains { $0.isNamed(like: part) } }
        let others = expected.parts.compactMap { part in
            let own = parts.first { $0.isNamed(like: part) }
            return own?.meaning == part.meaning ? nil : Fault(cause: own == nil ? .missing : .changed, part: part)
        }
        return surplus.map { Fault(cause: .surplus, part: $0) } + others
    }

    /// Whether it has all tables of a schema, each with the same columns. Then the file is one of ours, even if its
    /// header does not say so.
    package func hasTables(of expected: CacheSchema) -> Bool {
        !faults(comparedTo: expected).contains { $0.part.kind == .table && $0.cause != .surplus }
    }

    package func hasAllParts(of expected: CacheSchema) -> Bool {
        faults(comparedTo: expected).allSatisfy { $0.cause == .surplus }
    }
}

extension CacheSchema.Part {
    fileprivate func isNamed(like other: Self) -> Bool { kind == other.kind && name == other.name }
}

extension CacheSchema.Kind: CustomStringConvertible {
    package var description: String { rawValue }
}
