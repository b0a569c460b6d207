package import Diamond

/// A damaged part of a store.
package struct CacheFinding: Hashable, Sendable {
    /// The kinds of damage.
    package enum Kind: String, Hashable, Sendable, Encodable {
        /// The file: SQLite reports damage, or it has other tables.
        case file
        /// The header of the file: the program it belongs to, and its version.
        case header
        /// An index, a trigger or a table that is missing, changed, or not part of the schema.
        case schema
        /// A damaged entry. A lookup removes it.
        case entry
        /// Rows of a body without an entry.
        case body
        /// Rows after the end of an entry's body.
        case surplus
        /// Tags without an entry.
        case tags
        /// A part of a body that no transfer continues.
        case partial
        /// The row of a download that is damaged, or that no download continues.
        case download
        /// The position from which eviction continues, SIEVE's hand.
        case hand
        /// The secret for the store's keyed digests.
        case secret
    }

    package var kind: Kind
    /// The key of the entry, if the finding is about one.
    package var key: RequestKey?
    /// The URL of the entry, with secrets masked.
    package var url: String?
    /// The damage, in a few words.
    package var what: String
    /// The row of the entry.
    var id: Int64?
    /// The fault of the schema.
    var fault: CacheSchema.Fault?
}

/// A finding and its repair.
package struct CacheRepair: Hashable, Sendable {
    package var finding: CacheFinding
    /// The repair, in a few words; `nil` if there was nothing to repair any more.
    package var action: String?
}
