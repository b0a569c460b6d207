#if Tools
import Diamond
import Foundation

/// The latest requests of the programs of a store, as bars: waits, time on the wire, and answers of the cache.
struct TimelinePage {
    struct Row {
        let time: String
        let method: String
        let url: String
        /// The search for the entry; `nil` if the URL is sealed.
        let entryPath: String?
        let program: String
        let result: String
        let isFailure: Bool
        let waited: String
        let wire: String
        let total: String
        /// The duration in words, for those who do not see the bars.
        let label: String
        let bars: [Bar]
    }

    /// A part of a bar, in thousandths of the width.
    struct Bar {
        let style: String
        let x: Int
        let width: Int
    }

    private static let rowLimit = 100
    private static let kinds: KeyValuePairs = [
        "": "all", "network": "on the wire", "hit": "from the cache", "failed": "failed", "refresh": "refreshes",
    ]

    let hasFile: Bool
    let text: String
    /// The kinds of requests to choose from.
    let kinds: [Choice]
    /// The path of the live rows, with the filter.
    let live: String
    private(set) var rows: [Row] = []
    private(set) var hasRows = false
    /// The length of the axis in words.
    private(set) var span = ""

    static let routes = [
        Route.page("/timeline") { request, inspector in
            let page = await TimelinePage(inspector.events, request.query)
            return await inspector.page("timeline", title: "Timeline", section: "/timeline", page)
        },
        Route.page("/timeline/live") { request, inspector in
            .live {
                let value = ["page": await TimelinePage(inspector.events, request.query)]
                return ["rows": Templates.render("timeline-rows", value)]
            }
        },
    ]

    private init(_ feed: EventFeed, _ query: FormFields) async {
        let kind = query["kind"]
        text = query["url"]
        kinds = Self.kinds.map { Choice(value: $0.key, name: $0.value, isSelected: $0.key == kind) }
        live = query.address("/timeline/live", replacing: "kind", with: kind)
        let events = await feed.latest()
        hasFile = await feed.hasFile
        let pattern = TextPattern(argument: text)
        let found = TimelineReading(events).newestFirst.lazy.filter { exchange in
            pattern?.matches(exchange.url) ?? true && exchange.isOf(kind)
        }
        show(Array(found.prefix(Self.rowLimit)))
    }

    private mutating func show(_ exchanges: [TimelineExchange]) {
        hasRows = !exchanges.isEmpty
        let start = exchanges.map(\.start).min() ?? 0
        let length = max(1, (exchanges.map(\.end).max() ?? 0) - start)
        span = Quantity.time(.milliseconds(Int64(length)))
        rows = exchanges.map { Row($0, since: start, length: length) }
    }
}

extension TimelineExchange {
    fileprivate func isOf(_ kind: String) -> Bool {
        switch kind {
        case "network": parts.contains { $0.kind == .wire }
        case "failed": error != nil || status ?? 0 >= 400
        case "": true
        default: self.kind == kind
        }
    }

    /// Whether the time is that of a single moment.
    fileprivate var isMoment: Bool { kind == "hit" }

    fileprivate var result: String {
        let status = status.map { String($0) }
        return [status, source ?? (isMoment ? "cache" : nil), error].compactMap(\.self).joined(separator: " ")
    }
}

extension TimelinePage.Row {
    fileprivate init(_ exchange: TimelineExchange, since start: Double, length: Double) {
        time = String(Quantity.instant(exchange.time).dropFirst(11).dropLast())
        method = exchange.method
        url = exchange.url
        entryPath = exchange.url == "•••" ? nil : FormFields().address("/entries", replacing: "url", with: exchange.url)
        program = exchange.program
        result = exchange.result.isEmpty ? "under way" : exchange.result
        isFailure = exchange.error != nil || exchange.status ?? 0 >= 400
        waited = exchange.isMoment ? "" : Self.text(exchange.sum(.wait))
        self.wire = exchange.isMoment ? "" : Self.text(exchange.sum(.wire))
        total = exchange.milliseconds.map(Self.text) ?? ""
        label = exchange.isMoment ? "from the cache" : "waited \(waited), on the wire \(self.wire)"
        bars = TimelinePage.Bar.all(of: exchange, since: start, length: length)
    }

    private static func text(_ milliseconds: Double) -> String {
        // A sum of many parts may be long.
        Quantity.time(.microseconds(Int64(min(milliseconds, 1e12) * 1000)))
    }
}

extension TimelinePage.Bar {
    fileprivate static func all(of exchange: TimelineExchange, since start: Double, length: Double) -> [Self] {
        guard !exchange.isMoment else {
            return [Self(style: "hit", from: exchange.start - start, to: exchange.start - start, of: length)]
        }
        return exchange.parts.map { part in
            Self(
                style: part.kind.rawValue, from: part.start - start, to: (part.end ?? exchange.end) - start, of: length)
        }
    }

    private init(style: String, from start: Double, to end: Double, of length: Double) {
        self.style = style
        // A clock may be set back meanwhile.
        x = Int(min(max(0, start / length * 1000), 994))
        // Short ones are seen, too.
        width = Int(min(max(6, (end - start) / length * 1000), 1000))
    }
}
#endif
