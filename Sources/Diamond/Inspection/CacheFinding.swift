/// Something in a store that is not as it was written.
package struct CacheFinding: Hashable, Sendable {
    /// What is damaged.
    package enum Kind: String, Hashable, Sendable, Encodable {
        /// The file: SQLite says so, or it has other tables.
        case file
        /// What the file says of itself: whose it is, and of which version.
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
        /// Where eviction goes on.
        case hand
        /// What makes the store's keyed digests.
        case secret
    }

    package var kind: Kind
    /// Of the entry, where it has one.
    package var key: RequestKey?
    /// Of the entry; secrets masked.
    package var url: String?
    /// What is wrong, in a few words.
    package var what: String
    /// The row of the entry.
    var id: Int64?
    /// What of the schema is wrong.
    var fault: CacheSchema.Fault?
}

/// What became of a finding.
package struct CacheRepair: Hashable, Sendable {
    package var finding: CacheFinding
    /// In a few words; `nil` where there was nothing to mend any more.
    package var done: String?
}
