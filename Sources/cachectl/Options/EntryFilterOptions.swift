#if Tools
import ArgumentParser
import Diamond

/// The options that filter listed entries. An entry must match all of them.
struct EntryFilterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only responses with this status: 404, 4xx or 200-299; give it again for several.", valueName: "STATUS"))
    var status: [StatusRange] = []

    @Option(
        help: ArgumentHelp(
            "Only entries stored or revalidated longer ago than this, such as 90s, 15m, 36h or 7d.", valueName: "AGE"))
    var olderThan: Age?

    @Option(help: ArgumentHelp("Only entries with larger bodies, such as 100kB or 1.5MiB.", valueName: "SIZE"))
    var largerThan: Size?

    @Flag(help: "Only entries whose freshness lifetime is over, or that were invalidated.")
    var stale = false

    @Option(
        help: ArgumentHelp(
            "Only entries whose URLs contain this text, in any case. * stands for any characters.", valueName: "TEXT"))
    var match: TextPattern?

    private var filter: EntryFilter {
        EntryFilter(statuses: status, isStale: stale, match: match, largerThan: largerThan?.bytes ?? -1)
    }

    /// Whether each listing has to be tested. The other filters are selections.
    private var needsTest: Bool { !filter.isEmpty }

    var isEmpty: Bool { !needsTest && olderThan == nil }

    /// Whether a sealed store needs its key for the filter.
    var needsKey: Bool { match != nil }

    /// Returns a page of the entries that match, and that are in all of some selections.
    ///
    /// Reads the list until the page is full, because no storage has an index for these filters.
    func list(
        _ selections: [CacheSelection] = [], in cache: Cache, by order: CacheOrder, after cursor: CacheCursor? = nil,
        limit: Int, at now: WallTime
    ) throws(CacheError) -> [CacheListing] {
        let all = selections + (olderThan.map { [.stored(before: now - $0.milliseconds)] } ?? [])
        guard needsTest else { return try cache.list(all, by: order, after: cursor, limit: limit) }
        var found: [CacheListing] = []
        var cursor = cursor
        while found.count < limit {
            let page = try cache.list(all, by: order, after: cursor, limit: max(limit, 1000))
            guard let last = page.last else { break }
            found += page.filter { filter.includes($0, at: now) }
            cursor = CacheCursor(after: last, by: order)
        }
        return Array(found.prefix(limit))
    }
}

/// The conditions that each listed entry is tested for, because no storage has an index for them.
struct EntryFilter {
    var method = ""
    var statuses: [StatusRange] = []
    var isStale = false
    /// A text in the URL.
    var match: TextPattern?
    var largerThan: Int64 = -1

    var isEmpty: Bool { method.isEmpty && statuses.isEmpty && !isStale && match == nil && largerThan < 0 }

    func includes(_ listing: CacheListing, at now: WallTime) -> Bool {
        (method.isEmpty || listing.method == method)
            && (statuses.isEmpty || statuses.contains { $0.range.contains(listing.status) })
            && listing.bodySize > largerThan
            && (!isStale || !listing.isPartial && listing.freshness(at: now) ?? 1 <= 0)
            && match?.matches(listing.url) ?? true
    }
}

/// A range of statuses from the command line: `404`, `4xx`, `200-299`.
struct StatusRange: ExpressibleByArgument {
    let range: ClosedRange<Int>

    init?(argument: String) {
        let isClass = argument.count == 3 && argument.lowercased().hasSuffix("xx")
        let texts =
            isClass
            ? ["\(argument.prefix(1))00", "\(argument.prefix(1))99"]
            : argument.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let statuses = texts.compactMap { $0.count == 3 ? Int($0) : nil }.filter { $0 >= 100 }
        guard statuses.count == texts.count, let first = statuses.first, let last = statuses.last, first <= last else {
            return nil
        }
        range = first...last
    }
}

/// A text to find, from the command line. Case is ignored, and `*` stands for any characters.
struct TextPattern: ExpressibleByArgument {
    private let parts: [String]

    init?(argument: String) {
        parts = argument.lowercased().split(separator: "*").map(String.init)
        guard !parts.isEmpty else { return nil }
    }

    /// Whether a text contains the parts in their order.
    func matches(_ text: String) -> Bool {
        let text = text.lowercased()
        var rest = text.utf8[...]
        for part in parts {
            guard let range = rest.firstRange(of: part.utf8) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }
}
#endif
