#if Tools
import Diamond
import Foundation

/// A search for entries, from the fields of a form. Reads the list in its order until a page is full or the time is
/// over, because no storage has an index for texts.
struct EntrySearch {
    /// The entries that a search has found, and the place where it goes on.
    struct Page {
        var entries: [CacheListing] = []
        /// The place after the last entry that was read; `nil` if there are no more entries.
        var next: CacheCursor?
        /// Whether the time was over before the page was full.
        var isTimeOver = false
        /// The number of entries that were left out because their bodies are above ``FoundEntry/bodyLimit``.
        var unread = 0
    }

    static let pageSize = 50
    private static let step = 200

    private let filter: EntryFilter
    private let fieldName: String
    private let fieldValue: TextPattern?
    private let body: TextPattern?
    let order: CacheOrder
    private let start: CacheCursor?

    /// Throws ``PageProblem`` for a status or a cursor that cannot be read.
    ///
    /// - Parameter orders: the orders to choose from.
    init(_ fields: FormFields, orders: [CacheOrder] = CacheOrder.allCases) throws(PageProblem) {
        filter = EntryFilter(
            method: fields["method"].uppercased(), statuses: try Self.statuses(fields["status"]),
            isStale: fields.contains("stale"), match: TextPattern(argument: fields["url"]))
        let field = fields["field"].split(separator: ":", maxSplits: 1).map(String.init)
        fieldName = field.first?.trimmingCharacters(in: .whitespaces).lowercased() ?? ""
        fieldValue = field.count > 1 ? TextPattern(argument: field[1].trimmingCharacters(in: .whitespaces)) : nil
        body = TextPattern(argument: fields["body"])
        start = try Self.cursor(fields["after"])
        let order = start?.order ?? orders.first { $0.rawValue == fields["by"] } ?? .newest
        guard orders.contains(order) else { throw Self.unreadablePlace }
        self.order = order
    }

    private static func statuses(_ text: String) throws(PageProblem) -> [StatusRange] {
        let words = text.split { $0 == "," || $0.isWhitespace }.map(String.init)
        let ranges = words.compactMap { StatusRange(argument: $0) }
        guard ranges.count == words.count else {
            throw PageProblem(message: "The status cannot be read: write 404, 4xx or 200-299.")
        }
        return ranges
    }

    private static let unreadablePlace = PageProblem(message: "The place in the list cannot be read: search again.")

    private static func cursor(_ text: String) throws(PageProblem) -> CacheCursor? {
        guard !text.isEmpty else { return nil }
        guard let cursor = CacheCursor(text) else { throw unreadablePlace }
        return cursor
    }

    /// Whether the search reads the response of each entry.
    private var readsResponses: Bool { !fieldName.isEmpty || body != nil }

    private var isFilter: Bool { !filter.isEmpty || readsResponses }

    /// Reads the list from the start of the search.
    ///
    /// - Parameter isTimeOver: tells after each step, and after each response that is read, whether to stop.
    func run(in cache: Cache, at now: WallTime, isTimeOver: () -> Bool) throws(CacheError) -> Page {
        var page = Page(next: start)
        while true {
            let limit = isFilter ? Self.step : Self.pageSize + 1
            let listings = try cache.list(by: order, after: page.next, limit: limit)
            for listing in listings {
                guard page.entries.count < Self.pageSize else { return page }
                page.next = CacheCursor(after: listing, by: order)
                try add(listing, to: &page, in: cache, at: now)
                if readsResponses, isTimeOver() { return Self.stopped(page) }
            }
            guard listings.count == limit else {
                page.next = nil
                return page
            }
            if isTimeOver() { return Self.stopped(page) }
        }
    }

    private static func stopped(_ page: Page) -> Page {
        var page = page
        page.isTimeOver = page.entries.count < pageSize
        return page
    }

    private func add(
        _ listing: CacheListing, to page: inout Page, in cache: Cache, at now: WallTime
    ) throws(CacheError) {
        guard filter.includes(listing, at: now) else { return }
        let isFound = readsResponses ? try includesResponse(of: listing, in: cache, unread: &page.unread) : true
        if isFound { page.entries.append(listing) }
    }

    /// - Parameter unread: counts the bodies that are too large.
    private func includesResponse(
        of listing: CacheListing, in cache: Cache, unread: inout Int
    ) throws(CacheError) -> Bool {
        let limit = body == nil ? 0 : FoundEntry.bodyLimit
        guard !listing.isLocked, !listing.isPartial, let form = try cache.canonicalForm(of: listing.key),
            let stored = try cache.storedResponse(of: listing.key, request: Array(form.utf8), bodyLimit: limit)
        else { return false }
        // Not the secrets: the answer would tell them.
        let headers = stored.headers
        let hasField = headers.contains { field in
            field.name.rawName.lowercased() == fieldName
                && fieldValue?.matches(SecretNames.masked(field)) ?? true
        }
        guard fieldName.isEmpty || hasField else { return false }
        guard let body else { return true }
        guard stored.isWhole else {
            unread += 1
            return false
        }
        return body.matches(String(decoding: Masking.shown(stored.body, headers: headers), as: UTF8.self))
    }
}
#endif
