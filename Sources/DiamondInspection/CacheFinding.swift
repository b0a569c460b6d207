package import Diamond

/// Something in a store that is not as it was written.
package struct CacheFinding: Hashable, Sendable {
    /// The kinds of damage.
    package enum Kind: String, Hashable, Sendable, Encodable {
        /// The file: SQLite says so, or it has other tables.
        case file
        /// The header of the file: the program it belongs to, and its version.
        case header
        /// An index, a trigger or a table that is missing, another one, or not of the schema.
        case schema
        /// An entry: a lookup drops it.
        case entry
        /// Rows of a body that no entry has.
        case body
        /// Rows behind the end of an entry's body.
        case surplus
        /// Tags that no entry has.
        case tags
        /// Part of a body that no transfer goes on with.
        case partial
        /// The position at which eviction goes on.
        case hand
        /// The secret that makes the store's keyed digests.
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
    /// In a few words; `nil` where there was nothing to mend any more.
    package var done: String?
}
