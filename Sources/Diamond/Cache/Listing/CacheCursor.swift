import Foundation

/// A position in a list: after an entry, by the list's order. The next page begins there, however many entries were
/// added or removed in the meantime, and is as fast as the first.
public struct CacheCursor: Hashable, Sendable {
    package let order: CacheOrder
    /// The value that the entry is sorted by, if it is a number.
    public let number: Int64
    /// The URL in the order of URLs, otherwise empty.
    public let url: String
    /// The number that orders entries with equal values (``CacheRecord/id``).
    public let id: Int64

    /// Creates the position after a record.
    public init(after record: CacheRecord, by order: CacheOrder) {
        self.init(after: CacheListing(record), by: order)
    }

    /// Creates the position after an entry.
    package init(after listing: CacheListing, by order: CacheOrder) {
        self.order = order
        id = listing.id
        url = order == .url ? listing.url : ""
        number =
            switch order {
            case .newest: listing.storedAt.rawValue
            case .largest: listing.bodySize
            case .url: 0
            }
    }

    /// Whether a record comes after the cursor, for storages in memory.
    public func isBefore(_ record: CacheRecord) -> Bool { isBefore(CacheListing(record)) }

    /// Whether an entry comes after the cursor.
    func isBefore(_ listing: CacheListing) -> Bool {
        switch order {
        case .newest: (listing.storedAt.rawValue, listing.id) < (number, id)
        case .largest: (listing.bodySize, listing.id) < (number, id)
        // The comparison of SQLite's BINARY collation.
        case .url: url.utf8.lexicographicallyPrecedes(listing.url.utf8) || (url == listing.url && id < listing.id)
        }
    }
}

extension [CacheListing] {
    /// Returns the first listings by an order.
    func page(by order: CacheOrder, limit: Int) -> [CacheListing] {
        Array(sorted { CacheCursor(after: $0, by: order).isBefore($1) }.prefix(limit))
    }
}

extension [CacheRecord] {
    /// Returns the first records by an order, for storages in memory.
    package func page(by order: CacheOrder, limit: Int) -> [CacheRecord] {
        // The listing of each record is made once.
        let listed = map { (record: $0, listing: CacheListing($0)) }
        return listed.sorted { CacheCursor(after: $0.listing, by: order).isBefore($1.listing) }.prefix(limit).map(
            \.record)
    }
}

/// The text of a cursor, for a command line: base64url (RFC 4648 section 5) of the order, the numbers and the URL.
extension CacheCursor {
    package var text: String {
        Data("\(order.rawValue) \(number) \(id) \(url)".utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Creates a cursor from its text; `nil` if the text is no cursor.
    package init?(_ text: String) {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/") + padding
        guard let bytes = Data(base64Encoded: base64) else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(
            separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let order = CacheOrder(rawValue: String(parts[0])), let number = Int64(parts[1]),
            let id = Int64(parts[2])
        else { return nil }
        self.order = order
        self.number = number
        self.id = id
        url = String(parts[3])
    }
}
