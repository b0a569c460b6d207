#if Tools
import ArgumentParser
import Diamond
import Foundation

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists stored entries, by default the newest first.",
        discussion: """
            AGE is the time since the origin server generated or validated the response. FRESH is the rest of its \
            freshness lifetime, or stale, or - if it has no lifetime. The --max-age of requests does not count. FRESH \
            is partial for a part of a body, which answers only requests for ranges within it. If there are more \
            entries, the cursor of the next page is printed below the table. --json has a cursor in each entry.

            EXAMPLE
              cachectl list --host api.example.com --limit 10
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
        if selections.contains(where: \.needsKey) { try store.refuseLocked(cache) }
        var listings = try cache.list(selections, by: by, after: after, limit: limit.oneMore)
        let urls = try listings.prefix(limit.count).map { try $0.url(in: cache) }
        let isMore = listings.count > limit.count
        listings = Array(listings.prefix(limit.count))
        show(zip(listings, urls).map { EntryRow($0, url: $1, cursor: CacheCursor(after: $0, by: by), now: now) })
        if isMore, !store.json, let last = listings.last {
            Output.note("there is more: --after \(CacheCursor(after: last, by: by))")
        }
        if listings.contains(where: \.isLocked) { try store.refuseLockedEntries(in: cache) }
    }

    private func selections(at now: WallTime) -> [CacheSelection] {
        [host.map { .host($0) }, tag.map { .tag($0) }, expired ? .expired(at: now) : nil].compactMap { $0 }
    }

    private func show(_ rows: [EntryRow]) {
        guard !store.json else { return Output.json(rows) }
        guard !rows.isEmpty else {
            return Output.note(selections(at: .now).isEmpty ? "nothing stored" : "no entry matches")
        }
        var table = Table(
            header: ["KEY", "METHOD", "STATUS", "SIZE", "AGE", "FRESH", "URL"],
            alignments: [.left, .left, .right, .right, .right, .right, .left]
        )
        table.rows = rows.map(\.cells)
        Output.table(table)
    }
}

extension CacheOrder: ExpressibleByArgument {}

extension CacheListing {
    /// Returns the URL as it was sent: byte for byte, if a proxy has forwarded it so.
    func url(in cache: Cache) throws(CacheError) -> String {
        guard !isLocked, let form = try cache.canonicalForm(of: key) else { return url }
        return ForwardedURL(inForm: form)?.text ?? url
    }
}

/// An entry, as an object of `list --json` and as a row of the table.
struct EntryRow: Encodable {
    var key: String
    var method: String
    var status: Int
    var url: String
    var bytes: Int64
    var storedAt: String
    /// The current age in seconds (RFC 9111, section 4.2.3).
    var age: Int64
    /// The remaining freshness lifetime in seconds, negative if it is over. Absent if the response has none.
    var fresh: Int64?
    /// Whether the entry is protected from eviction.
    var pinned: Bool
    /// The cursor for a list that starts after this entry. Absent outside a list.
    var cursor: String?
    /// `true` for an entry with an incomplete body. Absent otherwise.
    var partial: Bool?
    private var milliseconds: (age: Int64, fresh: Int64?)

    /// - Parameter url: the URL as it was sent.
    init(_ listing: CacheListing, url: String, cursor: CacheCursor? = nil, now: WallTime) {
        let age = listing.initialAge + max(0, now.milliseconds(since: listing.storedAt))
        milliseconds = (age, listing.freshness(at: now))
        key = listing.key.description
        method = listing.method
        status = listing.status
        self.url = url
        bytes = listing.bodySize
        pinned = listing.flags.contains(.pinned)
        self.cursor = cursor?.description
        partial = listing.isPartial ? true : nil
        storedAt = Quantity.instant(listing.storedAt)
        self.age = age / 1000
        fresh = milliseconds.fresh.map { $0 / 1000 }
    }

    enum CodingKeys: CodingKey { case key, method, status, url, bytes, storedAt, age, fresh, pinned, cursor, partial }

    var cells: [String] {
        let known = milliseconds.fresh.map { $0 > 0 ? Quantity.age($0) : "stale" } ?? "-"
        let fresh = partial == true ? "partial" : known
        return [
            String(key.prefix(12)), method, String(status), Quantity.bytes(bytes), Quantity.age(milliseconds.age),
            fresh,
            url,
        ]
    }
}
#endif
