#if Tools
import ArgumentParser
import Diamond
import Foundation

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists what is stored, the newest first.",
        discussion: """
            AGE counts from when the origin made or confirmed the answer. FRESH is how long the server still allows it \
            to be reused; - where it says nothing (a request's own --max-age is not seen here). One that is \
            partial answers no request: its transfer is under way, or has broken off. Where there is more, a \
            line behind the table names the cursor of the next page; --json tells it of each entry.
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(help: ArgumentHelp("What comes first.", valueName: "ORDER"))
    var by = CacheOrder.newest

    @Option(help: ArgumentHelp("Only those of a host, whatever scheme and port.", valueName: "HOST"))
    var host: String?

    @Option(help: ArgumentHelp("Only those whose requests had the tag.", valueName: "NAME"))
    var tag: String?

    @Flag(help: "Only those that are past their lifetime and cannot be confirmed: what eviction takes first.")
    var expired = false

    @Option(help: ArgumentHelp("Entries at most; 50.", valueName: "N"), transform: Limit.init(argument:))
    var limit = Limit(50)

    @Option(
        help: ArgumentHelp("Begin behind the entry that a list in the same order named so.", valueName: "CURSOR"),
        transform: { text in
            guard let cursor = CacheCursor(text) else {
                throw ValidationError("'\(text)' is no cursor: take one that 'cachectl list' has named")
            }
            return cursor
        }
    )
    var after: CacheCursor?

    func validate() throws {
        guard after?.order ?? by == by else {
            throw ValidationError("the cursor is of a list by \(after?.order.rawValue ?? ""): say --by, or begin anew")
        }
    }

    func run() throws {
        let now = Date().milliseconds
        let cache = try store.openCache()
        let selections = selections(now)
        // What is named is found by the key alone.
        if selections.contains(where: \.needsKey) { try store.refuseLocked(cache) }
        var listings: [CacheListing]
        do throws(CacheError) {
            listings = try cache.list(selections, by: by, after: after, limit: limit.oneMore)
        } catch {
            throw Failure.report(error)
        }
        let isMore = listings.count > limit.count
        listings = Array(listings.prefix(limit.count))
        show(listings.map { EntryRow($0, cursor: CacheCursor(behind: $0, by: by), now: now) })
        if isMore, !store.json, let last = listings.last {
            Output.note("there is more: --after \(CacheCursor(behind: last, by: by))")
        }
        if listings.contains(where: \.isLocked) { try store.refuseLockedEntries(in: cache) }
    }

    private func selections(_ now: Int64) -> [CacheSelection] {
        [host.map { .host($0) }, tag.map { .tag($0) }, expired ? .expired(at: now) : nil].compactMap { $0 }
    }

    private func show(_ rows: [EntryRow]) {
        guard !store.json else { return Output.json(rows) }
        guard !rows.isEmpty else {
            return Output.note(selections(0).isEmpty ? "nothing stored" : "nothing of that stored")
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

/// One entry for a list: the form of `list --json`, and the cells of the table.
struct EntryRow: Encodable {
    var key: String
    var method: String
    var status: Int
    var url: String
    var bytes: Int64
    var storedAt: String
    /// Seconds since the origin made or confirmed it.
    var age: Int64
    /// Seconds of freshness left by the server's word; absent where it gave none.
    var fresh: Int64?
    /// Whether eviction spares it.
    var pinned: Bool
    /// The cursor with which a list goes on behind it; absent outside of a list.
    var cursor: String?
    /// Whether its body is not at its end; absent where it is.
    var partial: Bool?
    private var milliseconds: (age: Int64, fresh: Int64?)

    init(_ listing: CacheListing, cursor: CacheCursor? = nil, now: Int64) {
        let age = listing.initialAge + max(0, now - listing.storedAt)
        milliseconds = (age, listing.freshness(at: now))
        key = listing.key.description
        method = listing.method
        status = listing.status
        url = listing.url
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
