#if Tools
import Diamond
import Foundation

/// The list of entries with its search.
struct EntriesPage {
    let fields: [String: String]
    let isStale: Bool
    private(set) var orders: [Choice] = []
    /// The key of the entry that was just purged.
    let purged: String?
    /// The reason why there is no list; `nil` if there is one.
    private(set) var missing: String?
    private(set) var problem: String?
    private(set) var rows: [EntryRow] = []
    private(set) var hasRows = false
    /// The address of the next page; `nil` after the last one.
    private(set) var next: String?
    private(set) var nextName = "Next page"
    /// The number of found entries, in words.
    private(set) var summary = ""

    /// The time after which a search stops.
    private static let timeLimit = Duration.milliseconds(150)

    static let routes = [
        Route.page("/entries") { request, inspector in
            var page = EntriesPage(request.query)
            do {
                try page.search(request.query, in: await inspector.cache())
            } catch let error as CacheError {
                page.missing = error.message
            } catch let error as PageProblem {
                page.problem = error.message
            }
            return await inspector.page("entries", title: "Entries", section: "/entries", page)
        }
    ]

    private init(_ query: FormFields) {
        let names = ["url", "method", "status", "field", "body"]
        fields = Dictionary(uniqueKeysWithValues: names.map { ($0, query[$0]) })
        isStale = query.contains("stale")
        purged = query.contains("purged") ? query["purged"] : nil
    }

    private mutating func search(_ query: FormFields, in cache: Cache) throws {
        // In a sealed store, the order of URLs decrypts each of them first.
        let choices = try cache.keyIDs().isEmpty ? CacheOrder.allCases : [.newest, .largest]
        orders = choices.map { Choice(value: $0.rawValue, name: $0.title, isSelected: $0.rawValue == query["by"]) }
        let now = WallTime.now
        let end = ContinuousClock.now + Self.timeLimit
        let found = try EntrySearch(query, orders: choices).run(in: cache, at: now) { ContinuousClock.now > end }
        rows = try found.entries.map { EntryRow($0, url: try $0.url(in: cache), now: now) }
        hasRows = !rows.isEmpty
        if found.isTimeOver { nextName = "Search on" }
        let kept = FormFields(query.items.filter { $0.name != "purged" })
        next = found.next.map { kept.address("/entries", replacing: "after", with: $0.text) }
        summary = Self.summary(of: found)
    }

    private static func summary(of found: EntrySearch.Page) -> String {
        let count = Quantity.entries(found.entries.count)
        let limit = Quantity.bytes(Int64(FoundEntry.bodyLimit))
        let note = found.unread == 0 ? "" : "; bodies above \(limit) are not searched: \(found.unread)"
        guard found.isTimeOver else { return (found.next == nil ? count : "\(count), and there are more") + note }
        return "\(count) so far: the search stopped after \(Quantity.time(timeLimit))\(note)"
    }
}

extension CacheOrder {
    fileprivate var title: String {
        switch self {
        case .newest: "newest first"
        case .largest: "largest first"
        case .url: "by URL"
        }
    }
}
#endif
