#if Tools
import ArgumentParser
import Diamond
import Foundation

struct Stats: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints what is stored; with --days, hits, misses and evictions per day.",
        discussion: """
            HITS are fresh responses from the cache. STALE are stale ones that a policy or the server allowed. \
            CONFIRMED are those that the server validated. RATIO is the sum of these three, divided by that sum \
            plus MISSES. SERVED is the number of body bytes from the cache. SAVED is the time of the exchanges that HITS \
            and STALE replaced. Days are in UTC. With --days, --json prints hours.

            EXAMPLE
              cachectl stats --days 7
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(
        help: ArgumentHelp("Print the last N days, including today, from 1 to 400.", valueName: "N"),
        transform: Days.init(argument:))
    var days: Days?

    func run() throws {
        let cache = try store.openCache()
        if let days = days?.count {
            let today = Int64(Date().timeIntervalSince1970) / 86400
            return show(try cache.statistics(days: days).filter { $0.day > today - Int64(days) })
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

    private func show(_ hours: [CacheCounts]) {
        guard !store.json else { return Output.json(hours.map(\.form)) }
        guard !hours.isEmpty else { return Output.note("nothing happened") }
        let counts = ["HITS", "STALE", "CONFIRMED", "MISSES", "STORES", "EVICTED", "SERVED", "SAVED", "RATIO"]
        let days = Dictionary(grouping: hours, by: \.day).sorted { $0.key < $1.key }
        Output.table(
            Table(
                columns: [("DAY", .left)] + counts.map { ($0, .right) },
                rows: days.map { DayRow(day: $0.key, hours: $0.value).cells }))
    }
}

/// A row of `stats --days`.
struct DayRow {
    var day: Int64
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
        return [String(Quantity.instant(WallTime(rawValue: day * 86_400_000)).prefix(10))] + counts.map { String($0) }
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
