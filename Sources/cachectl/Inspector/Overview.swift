#if Tools
import Diamond
import Foundation

/// The start page: the counts of the cache, the latency of requests, and the depth of the queue, as they change.
struct Overview {
    /// A row of the table and of the chart. The chart reads the plain numbers.
    struct Hour {
        let time: String
        let seconds: Int64
        let requests: Int64
        let answers: Int64
        let misses: Int64
        let ratio: String
        let served: String
    }

    private static let hourCount: Int64 = 48

    private(set) var problem: String?
    private(set) var figures: [NamedValue] = []
    private(set) var hours: [Hour] = []

    static let routes = [
        Route.page("/") { _, inspector in
            await inspector.page("overview", title: "Overview", section: "/", Overview(of: inspector))
        },
        Route.page("/overview/live") { _, inspector in
            .live {
                let value = ["page": await Overview(of: inspector)]
                return [
                    "figures": Templates.render("overview-figures", value),
                    "hours": Templates.render("overview-hours", value),
                ]
            }
        },
    ]

    /// Reads the counts, or says why there are none.
    init(of inspector: Inspector) async {
        do {
            try read(await inspector.cache())
        } catch {
            problem = PageProblem(error)?.message ?? "The cache cannot be read."
        }
        figures += Self.latencies(of: await inspector.events.latest())
        figures += await Self.depth(of: inspector)
    }

    /// Returns percentiles of the latest requests that were sent; none if no program records them.
    private static func latencies(of events: [RecordedEvent]) -> [NamedValue] {
        let sources: Set = ["network", "revalidated"]
        let times = events.filter { $0.kind == .ended && $0.interval == "request" && sources.contains($0.source ?? "") }
            .compactMap(\.milliseconds).map { Duration.microseconds(Int64($0 * 1000)) }
        guard !times.isEmpty else { return [] }
        let latencies = Latencies(times)
        return [50, 95].map { percent in
            NamedValue(
                name: "latency, \(percent) % of \(times.count) requests",
                value: Quantity.time(latencies.percentile(percent)))
        }
    }

    /// Returns the depth of the queue; nothing if there is none.
    private static func depth(of inspector: Inspector) async -> [NamedValue] {
        guard let counts = try? await inspector.queue().counts() else { return [] }
        func sum(_ states: Set<ReplayState>) -> String { String(states.reduce(0) { $0 + counts[$1, default: 0] }) }
        return NamedValue.all([
            "jobs to send": sum(QueueSample.open), "dead jobs": sum([.dead]), "jobs in review": sum([.needsReview]),
        ])
    }

    private mutating func read(_ cache: Cache) throws(CacheError) {
        let now = WallTime.now
        let first = now.rawValue / 3_600_000 - Self.hourCount
        let counts = try cache.statistics(days: 3).filter { $0.hour > first }
        figures = Self.figures(of: try cache.totals(), counts: counts, day: first + Self.hourCount - 24)
        hours = counts.reversed().map { Hour($0) }
    }

    private static func figures(of totals: CacheTotals, counts: [CacheCounts], day: Int64) -> [NamedValue] {
        let counts = counts.filter { $0.hour > day }
        func sum(_ count: KeyPath<CacheCounts, Int64>) -> Int64 {
            counts.reduce(0) { $0.addingSaturating($1[keyPath: count]) }
        }
        return NamedValue.all([
            "hit ratio, 24 hours": CacheCounts.ratio(sum(\.answers), of: sum(\.requests)),
            "requests, 24 hours": String(sum(\.requests)),
            "entries": String(totals.entries),
            "partial entries": String(totals.partials),
            "bodies": Quantity.bytes(totals.bodyBytes),
            "on disk": Quantity.bytes(totals.diskBytes),
            "evicted, 24 hours": String(sum(\.evictions)),
            "time saved, 24 hours": Quantity.time(.milliseconds(sum(\.millisecondsSaved))),
        ])
    }
}

extension Overview.Hour {
    fileprivate init(_ counts: CacheCounts) {
        time = Quantity.instant(counts.start)
        seconds = counts.hour * 3600
        requests = counts.requests
        answers = counts.answers
        misses = counts.misses
        ratio = CacheCounts.ratio(counts.answers, of: counts.requests)
        served = Quantity.bytes(counts.bytesServed)
    }
}

extension CacheCounts {
    /// The responses that came from the cache.
    fileprivate var answers: Int64 { hits.addingSaturating(staleHits).addingSaturating(revalidations) }

    fileprivate var requests: Int64 { answers.addingSaturating(misses) }

    fileprivate static func ratio(_ answers: Int64, of requests: Int64) -> String {
        requests > 0 ? Quantity.percent(Double(answers) / Double(requests)) : "-"
    }
}
#endif
