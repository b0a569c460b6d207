#if Tools
import ArgumentParser
import Diamond
import Foundation

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists stored entries, by default the newest first.",
        discussion: """
            AGE is the time since the origin server generated or validated the response. FRESH is the rest of its \
            freshness lifetime, or stale, or - if it has no lifetime. The --max-age of requests does not count. FRESH \
            is partial for a part of a body, which answers only requests for ranges within it. If there are more \
            entries, the cursor of the next page is printed below the table. --json has a cursor in each entry. \
            Entries must match all filters.

            EXAMPLE
              cachectl list --status 4xx --match /cities/ --limit 10
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(help: ArgumentHelp("The sort order.", valueName: "ORDER"))
    var by = CacheOrder.newest

    @Option(help: ArgumentHelp("Only entries of a host, whatever the scheme and port.", valueName: "HOST"))
    var host: String?

    @Option(help: ArgumentHelp("Only entries whose requests had this tag.", valueName: "NAME"))
    var tag: String?

    @Flag(
        help: "Only expired entries without a validator that are not pinned. Eviction removes them first, after parts.")
    var expired = false

    @OptionGroup var filter: EntryFilterOptions

    @Option(
        help: ArgumentHelp("Maximum number of entries (default: 50).", valueName: "N"), transform: Limit.init(argument:)
    )
    var limit = Limit(50)

    @Option(
        help: ArgumentHelp("Start after this cursor, from a list in the same order.", valueName: "CURSOR"),
        transform: { text in
            guard let cursor = CacheCursor(text) else {
                throw ValidationError("'\(text)' is not a cursor: copy one from the output of 'cachectl list'")
            }
            return cursor
        }
    )
    var after: CacheCursor?

    func validate() throws {
        guard after?.order ?? by == by else {
            let order = after?.order.rawValue ?? ""
            throw ValidationError("the cursor is from a list by \(order): add --by \(order), or leave --after out")
        }
    }

    func run() throws {
        let now = WallTime.now
        let cache = try store.openCache()
        let selections = selections(at: now)
        // Sealed names can be searched only with the key.
        if filter.needsKey || selections.contains(where: \.needsKey) { try store.refuseLocked(cache) }
        var listings = try filter.list(
            selections, in: cache, by: by, after: after, limit: limit.oneMore, at: now)
        let urls = try listings.prefix(limit.count).map { try $0.url(in: cache) }
        let isMore = listings.count > limit.count
        listings = Array(listings.prefix(limit.count))
        show(zip(listings, urls).map { EntryRow($0, url: $1, cursor: CacheCursor(after: $0, by: by), now: now) })
        if isMore, !store.json, let last = listings.last {
            Output.note("there is more: --after \(CacheCursor(after: last, by: by).text)")
        }
        if listings.contains(where: \.isLocked) { try store.refuseLockedEntries(in: cache) }
    }

    private func selections(at now: WallTime) -> [CacheSelection] {
        [host.map { .host($0) }, tag.map { .tag($0) }, expired ? .expired(at: now) : nil].compactMap { $0 }
    }

    private func show(_ rows: [EntryRow]) {
        guard !store.json else { return Output.json(rows.map(\.form)) }
        guard !rows.isEmpty else {
            return Output.note(filter.isEmpty && selections(at: .now).isEmpty ? "nothing stored" : "no entry matches")
        }
        Output.table(
            Table(
                [
                    "KEY": .left, "METHOD": .left, "STATUS": .right, "SIZE": .right, "AGE": .right, "FRESH": .right,
                    "URL": .left,
                ], rows: rows.map(\.cells)))
    }
}

extension CacheListing {
    /// Returns the URL as it was sent: byte for byte, if a proxy has forwarded it so.
    func url(in cache: Cache) throws(CacheError) -> String {
        guard !isLocked, let form = try cache.canonicalForm(of: key) else { return url }
        return ForwardedURL(inForm: form)?.text ?? url
    }
}

/// An entry, as an object of `list --json`, and as a row of the table or of a page.
struct EntryRow {
    let key: String
    let shortKey: String
    /// The path of the entry's page.
    let path: String
    let status: String
    let isError: Bool
    let method: String
    /// The URL as it was sent.
    let url: String
    let size: String
    let age: String
    let fresh: String
    let isPinned: Bool
    private let listing: CacheListing
    /// The cursor for a list that starts after this entry; `nil` outside a list.
    private let cursor: CacheCursor?
    /// The current age in milliseconds (RFC 9111, section 4.2.3).
    private let milliseconds: Int64
    /// The remaining freshness lifetime in milliseconds, negative if it is over; `nil` if the response has none.
    private let rest: Int64?

    init(_ listing: CacheListing, url: String, cursor: CacheCursor? = nil, now: WallTime) {
        self.listing = listing
        self.url = url
        self.cursor = cursor
        milliseconds = listing.initialAge + max(0, now.milliseconds(since: listing.storedAt))
        rest = listing.freshness(at: now)
        key = listing.key.description
        shortKey = String(key.prefix(12))
        path = "/entries/\(key)"
        status = String(listing.status)
        isError = listing.status >= 400
        method = listing.method
        size = Quantity.bytes(listing.bodySize)
        age = Quantity.age(milliseconds)
        fresh = listing.isPartial ? "partial" : rest.map { $0 > 0 ? Quantity.age($0) : "stale" } ?? "-"
        isPinned = listing.flags.contains(.pinned)
    }

    var storedAt: String { Quantity.instant(listing.storedAt) }

    var form: JSONObject {
        [
            "key": key, "method": method, "status": listing.status, "url": url, "bytes": listing.bodySize,
            "storedAt": storedAt, "age": milliseconds / 1000, "fresh": rest.map { $0 / 1000 }, "pinned": isPinned,
            "cursor": cursor?.text, "partial": listing.isPartial ? true : nil,
        ]
    }

    var cells: [String] { [shortKey, method, status, size, age, fresh, url] }
}
#endif
