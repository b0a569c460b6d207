package import Diamond

/// A damage of a store.
package struct CacheFinding: Hashable, Sendable {
    /// The kinds of damage.
    package enum Kind: String, Hashable, Sendable, Encodable {
        /// The file: SQLite finds it malformed, or its tables are others.
        case file
        /// The header of the file: the program it belongs to, and its version.
        case header
        /// An index, a trigger or a table that is missing, different, or not in the schema.
        case schema
        /// An entry: a lookup drops it.
        case entry
        /// Rows of a body without an entry.
        case body
        /// Rows after the end of an entry's body.
        case surplus
        /// Tags without an entry.
        case tags
        /// A partial body that no transfer continues.
        case partial
        /// The position at which eviction continues.
        case hand
        /// The secret of the store's keyed digests.
        case secret
    }

    package var kind: Kind
    /// The key of the entry, where it has one.
    package var key: RequestKey?
    /// The URL of the entry; secrets masked.
    package var url: String?
    /// The damage, in a few words.
    package var what: String
    /// The row of the entry.
    var id: Int64?
    /// The fault of the schema.
    var fault: CacheSchema.Fault?
}

/// A finding, and its repair.
package struct CacheRepair: Hashable, Sendable {
    package var finding: CacheFinding
    /// The repair, in a few words; `nil` if it was no longer necessary.
    package var done: String?
}
