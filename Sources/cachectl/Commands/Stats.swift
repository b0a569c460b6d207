#if Tools
import ArgumentParser
import Diamond
import Foundation

struct Stats: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Prints what is stored, by host, type, status or age, or hits and misses by day.",
        discussion: """
            HITS are fresh responses from the cache. STALE are stale ones that a policy or the server allowed. \
            CONFIRMED are those that the server validated. RATIO is the sum of these three, divided by that sum \
            plus MISSES. SERVED is the number of body bytes from the cache. SAVED is the time of the exchanges that HITS \
            and STALE replaced. Days are in UTC. With --days, --json prints hours.

            --by prints a histogram of the entries, parts included. AGE is the time since the response was stored or \
            revalidated. --by type reads the headers of all entries. The store counts hits and misses by the hour, not \
            by host, type or status.

            EXAMPLE
              cachectl stats --by host
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(
        help: ArgumentHelp("Print the last N days, including today, from 1 to 400.", valueName: "N"),
        transform: Limit.days(argument:))
    var days: Limit?

    @Flag(help: "With --days: print hours instead of days.")
    var hourly = false

    @Option(help: ArgumentHelp("Print the number and size of the entries by this.", valueName: "WHAT"))
    var by: EntryGroups.Criterion?

    func validate() throws {
        guard by == nil || days == nil else { throw ValidationError("give one of --by and --days") }
        guard !hourly || days != nil else { throw ValidationError("--hourly is for --days: give both") }
    }

    func run() throws {
        let cache = try store.openCache()
        if let days = days?.count {
            let today = Int64(Date().timeIntervalSince1970) / 86400
            return show(try cache.statistics(days: days).filter { $0.day > today - Int64(days) })
        }
        if let by {
            show(try EntryGroups(of: cache, by: by))
            return try store.refuseLocked(cache)
        }
        show(try cache.totals(), sealed: try cache.sealedEntryCounts().values.reduce(0, +), server: cache.server)
        try store.refuseLocked(cache)
    }

    private func show(_ totals: CacheTotals, sealed: Int, server: String?) {
        let directory = server ?? store.location.directory.path
        let partial = totals.partials > 0 ? totals.partials : nil
        let (oldest, newest) = (totals.oldest.map(Quantity.instant), totals.newest.map(Quantity.instant))
        guard !store.json else {
            let form: JSONObject = [
                "store": directory, "entries": totals.entries, "partial": partial, "sealed": sealed,
                "bodyBytes": totals.bodyBytes, "diskBytes": totals.diskBytes, "oldest": oldest, "newest": newest,
            ]
            return Output.json(form)
        }
        Output.line("store    \(directory)")
        Output.line("entries  \(totals.entries)")
        if let partial { Output.line("partial  \(partial)") }
        if sealed > 0 { Output.line("sealed   \(sealed)") }
        Output.line("bodies   \(Quantity.bytes(totals.bodyBytes))")
        Output.line("disk     \(Quantity.bytes(totals.diskBytes))")
        Output.line("oldest   \(oldest ?? "-")")
        Output.line("newest   \(newest ?? "-")")
    }

    private func show(_ groups: EntryGroups) {
        guard !store.json else { return Output.json(groups.form) }
        guard !groups.isEmpty else { return Output.note("nothing stored") }
        Output.table(groups.table)
    }

    private func show(_ hours: [CacheCounts]) {
        guard !store.json else { return Output.json(hours.map(\.form)) }
        guard !hours.isEmpty else { return Output.note("nothing happened") }
        let counts = ["HITS", "STALE", "CONFIRMED", "MISSES", "STORES", "EVICTED", "SERVED", "SAVED", "RATIO"]
        let rows = Dictionary(grouping: hours) { hourly ? $0.hour : $0.day * 24 }.sorted { $0.key < $1.key }
        Output.table(
            Table(
                columns: [(hourly ? "HOUR" : "DAY", .left)] + counts.map { ($0, .right) },
                rows: rows.map { CountsRow(start: $0.key, length: hourly ? 13 : 10, hours: $0.value).cells }))
    }
}

/// A row of `stats --days`: a day or an hour.
private struct CountsRow {
    /// The first hour, in hours since 1970.
    var start: Int64
    /// The characters of the time to print: `2026-08-01` or `2026-08-01T12`.
    var length: Int
    var hours: [CacheCounts]

    private func sum(_ count: (CacheCounts) -> Int64) -> Int64 { hours.reduce(0) { $0.addingSaturating(count($1)) } }

    /// Returns whole percents, computed with twice the bits, so that nothing overflows.
    private static func percent(_ part: Int64, of whole: Int64) -> Int64 {
        whole.dividingFullWidth(part.multipliedFullWidth(by: 100)).quotient
    }

    var cells: [String] {
        let counts = [
            sum(\.hits), sum(\.staleHits), sum(\.revalidations), sum(\.misses), sum(\.stores), sum(\.evictions),
        ]
        let answers = counts[0..<4].reduce(Int64(0)) { $0.addingSaturating($1) }
        let ratio = answers > 0 ? "\(Self.percent(answers - counts[3], of: answers)) %" : "-"
        return [String(Quantity.instant(WallTime(rawValue: start * 3_600_000)).prefix(length))]
            + counts.map { String($0) }
            + [
                Quantity.bytes(sum(\.bytesServed)), Quantity.time(.milliseconds(sum(\.millisecondsSaved))), ratio,
            ]
    }
}

extension CacheCounts {
    /// The number of days since 1970, in UTC.
    fileprivate var day: Int64 { hour / 24 }

    fileprivate var form: JSONObject {
        [
            "hour": Quantity.instant(start), "hits": hits, "staleHits": staleHits, "revalidations": revalidations,
            "misses": misses, "stores": stores, "evictions": evictions, "bytesServed": bytesServed,
            "millisecondsSaved": millisecondsSaved,
        ]
    }
}
#endif
