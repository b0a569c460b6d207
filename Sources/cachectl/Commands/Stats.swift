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
        var figures = StoreFigures(of: store.location, totals: try cache.totals())
        figures.sealed = try cache.sealedEntryCounts().values.reduce(0, +)
        show(figures)
        try store.refuseLocked(cache)
    }

    private func show(_ figures: StoreFigures) {
        guard !store.json else { return Output.json(figures) }
        Output.line("store    \(figures.store)")
        Output.line("entries  \(figures.entries)")
        if let partial = figures.partial { Output.line("partial  \(partial)") }
        if figures.sealed > 0 { Output.line("sealed   \(figures.sealed)") }
        Output.line("bodies   \(Quantity.bytes(figures.bodyBytes))")
        Output.line("disk     \(Quantity.bytes(figures.diskBytes))")
        Output.line("oldest   \(figures.oldest ?? "-")")
        Output.line("newest   \(figures.newest ?? "-")")
    }

    private func show(_ hours: [CacheCounts]) {
        guard !store.json else { return Output.json(hours.map(HourFigures.init)) }
        guard !hours.isEmpty else { return Output.note("nothing happened") }
        var table = Table(
            header: ["DAY", "HITS", "STALE", "CONFIRMED", "MISSES", "STORES", "EVICTED", "SERVED", "SAVED", "RATIO"],
            alignments: [.left] + Array(repeating: .right, count: 9)
        )
        let days = Dictionary(grouping: hours, by: \.day).sorted { $0.key < $1.key }
        table.rows = days.map { DayRow(day: $0.key, hours: $0.value).cells }
        for line in table.lines(width: Output.width) { Output.line(line) }
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
}

/// The output of `stats --json`.
private struct StoreFigures: Encodable {
    var store: String
    var entries: Int
    /// The number of entries with incomplete bodies, not included in `entries`. Absent if there are none.
    var partial: Int?
    /// The number of sealed entries, included in `entries`.
    var sealed = 0
    var bodyBytes: Int64
    var diskBytes: Int64
    var oldest: String?
    var newest: String?

    init(of store: Store, totals: CacheTotals) {
        self.store = store.directory.path
        entries = totals.entries
        partial = totals.partials > 0 ? totals.partials : nil
        bodyBytes = totals.bodyBytes
        diskBytes = totals.diskBytes
        oldest = totals.oldest.map(Quantity.instant)
        newest = totals.newest.map(Quantity.instant)
    }
}

/// An hour of `stats --days --json`.
private struct HourFigures: Encodable {
    var hour: String
    var hits: Int64
    var staleHits: Int64
    var revalidations: Int64
    var misses: Int64
    var stores: Int64
    var evictions: Int64
    var bytesServed: Int64
    var millisecondsSaved: Int64

    init(_ counts: CacheCounts) {
        hour = Quantity.instant(counts.start)
        hits = counts.hits
        staleHits = counts.staleHits
        revalidations = counts.revalidations
        misses = counts.misses
        stores = counts.stores
        evictions = counts.evictions
        bytesServed = counts.bytesServed
        millisecondsSaved = counts.millisecondsSaved
    }
}
#endif
