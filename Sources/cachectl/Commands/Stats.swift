#if Tools
import ArgumentParser
import Diamond
import Foundation

struct Stats: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints how much is stored, or what the cache did day by day.",
        discussion: """
            Days are those of UTC. HITS were fresh, STALE ones past their lifetime by leave of a policy, CONFIRMED ones by \
            the server; RATIO is the three's part of all answers. SERVED counts bytes of bodies from the cache, SAVED the \
            time of the exchanges in whose place it answered. With --json the hours are printed.
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(
        help: ArgumentHelp("What happened in the last N days, today included.", valueName: "N"),
        transform: Days.init(argument:))
    var days: Days?

    func run() throws {
        let cache = try store.openCache()
        do throws(CacheError) {
            if let days = days?.count {
                let today = Int64(Date().timeIntervalSince1970) / 86400
                return show(try cache.statistics(days: days).filter { $0.day > today - Int64(days) })
            }
            var figures = StoreFigures(store.location, try cache.totals())
            figures.sealed = try cache.seals().values.reduce(0, +)
            show(figures)
        } catch {
            throw Failure.report(error)
        }
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

/// One day of `stats --days`.
struct DayRow {
    var day: Int64
    var hours: [CacheCounts]

    private func sum(_ count: (CacheCounts) -> Int64) -> Int64 { hours.reduce(0) { $0.addingSaturating(count($1)) } }

    /// Whole ones, whatever the numbers: the product has twice the bits.
    private static func percent(_ part: Int64, of whole: Int64) -> Int64 {
        whole.dividingFullWidth(part.multipliedFullWidth(by: 100)).quotient
    }

    var cells: [String] {
        let counts = [
            sum(\.hits), sum(\.staleHits), sum(\.revalidations), sum(\.misses), sum(\.stores), sum(\.evictions),
        ]
        let answers = counts[0..<4].reduce(Int64(0)) { $0.addingSaturating($1) }
        let ratio = answers > 0 ? "\(Self.percent(answers - counts[3], of: answers)) %" : "-"
        return [String(Quantity.instant(day * 86_400_000).prefix(10))] + counts.map { String($0) } + [
            Quantity.bytes(sum(\.bytesServed)), Quantity.time(.milliseconds(sum(\.millisecondsSaved))), ratio,
        ]
    }
}

extension CacheCounts {
    /// Whole days since 1970, in UTC.
    fileprivate var day: Int64 { hour / 24 }
}

/// The form of `stats --json`.
private struct StoreFigures: Encodable {
    var store: String
    var entries: Int
    /// The number of entries whose bodies are not at their end, in addition to `entries`; absent where there are none.
    var partial: Int?
    /// The number of sealed entries, of all.
    var sealed = 0
    var bodyBytes: Int64
    var diskBytes: Int64
    var oldest: String?
    var newest: String?

    init(_ store: Store, _ statistics: CacheTotals) {
        self.store = store.directory.path
        entries = statistics.entries
        partial = statistics.partials > 0 ? statistics.partials : nil
        bodyBytes = statistics.bodyBytes
        diskBytes = statistics.diskBytes
        oldest = statistics.oldest.map(Quantity.instant)
        newest = statistics.newest.map(Quantity.instant)
    }
}

/// The form of `stats --days --json`.
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
        hour = Quantity.instant(counts.hour * 3_600_000)
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
