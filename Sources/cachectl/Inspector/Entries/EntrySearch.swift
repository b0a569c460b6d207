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
    }

    static let pageSize = 50
    private static let step = 200

    private let url: TextPattern?
    private let method: String
    private let statuses: [StatusRange]
    private let isStale: Bool
    private let fieldName: String
    private let fieldValue: TextPattern?
    private let body: TextPattern?
    let order: CacheOrder
    private let start: CacheCursor?

    /// Throws ``PageProblem`` for a status or a cursor that cannot be read.
    ///
    /// - Parameter orders: the orders to choose from.
    init(_ fields: FormFields, orders: [CacheOrder] = CacheOrder.allCases) throws(PageProblem) {
        url = TextPattern(argument: fields["url"])
        method = fields["method"].uppercased()
        statuses = try Self.statuses(fields["status"])
        isStale = fields.contains("stale")
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
        guard let cursor = CacheCursor(text) else {
            throw unreadablePlace
        }
        return cursor
    }

    /// Whether the search reads the response of each entry.
    private var readsResponses: Bool { !fieldName.isEmpty || body != nil }

    private var isFilter: Bool {
        url != nil || !method.isEmpty || !statuses.isEmpty || isStale || readsResponses
    }

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
                if try includes(listing, in: cache, at: now) { page.entries.append(listing) }
                if readsResponses, isTimeOver() { return stopped(page) }
            }
            guard listings.count == limit else { return Page(entries: page.entries) }
            if isTimeOver() { return stopped(page) }
        }
    }

    private func stopped(_ page: Page) -> Page {
        Page(entries: page.entries, next: page.next, isTimeOver: page.entries.count < Self.pageSize)
    }

    private func includes(_ listing: CacheListing, in cache: Cache, at now: WallTime) throws(CacheError) -> Bool {
        guard url?.matches(listing.url) ?? true, method.isEmpty || listing.method == method,
            statuses.isEmpty || statuses.contains(where: { $0.range.contains(listing.status) }),
            !isStale || !listing.isPartial && listing.freshness(at: now) ?? 1 <= 0
        else { return false }
        guard readsResponses else { return true }
        return try includesResponse(of: listing, in: cache)
    }

    private func includesResponse(of listing: CacheListing, in cache: Cache) throws(CacheError) -> Bool {
        guard !listing.isLocked, !listing.isPartial, let form = try cache.canonicalForm(of: listing.key),
            let stored = try cache.findOnDisk(listing.key, request: Array(form.utf8))
        else { return false }
        // Not the secrets: the answer would tell them.
        let headers = stored.headers
        let hasField = headers.contains { field in
            field.name.rawName.lowercased() == fieldName
                && fieldValue?.matches(SecretNames.masked(field)) ?? true
        }
        guard fieldName.isEmpty || hasField else { return false }
        return body?.matches(String(decoding: BodyPreview.masked(stored.body, headers: headers), as: UTF8.self)) ?? true
    }
}
#endif
