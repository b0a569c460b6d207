#if Tools
import Diamond

/// The latencies of responses, with percentiles and a histogram.
struct Latencies {
    /// A range of latencies up to a limit, and their number.
    struct Group {
        /// The limit, which is not part of the range; `nil` for the longest latencies.
        var limit: Duration?
        var count: Int
    }

    /// The limits 0.1, 0.2 and 0.5 ms, and so on, up to 500 s.
    private static let limits = (0..<21).map { index in
        Duration.microseconds((0..<index / 3).reduce([1, 2, 5][index % 3] * 100) { value, _ in value * 10 })
    }

    private let sorted: [Duration]

    /// - Parameter latencies: the latencies in any order, at least one.
    init(_ latencies: [Duration]) { sorted = latencies.sorted() }

    private var mean: Duration { sorted.reduce(.zero, +) / max(1, sorted.count) }

    /// Returns the nearest-rank percentile: the smallest latency that at least a part of all do not exceed.
    ///
    /// - Parameter percent: From 0 to 100.
    func percentile(_ percent: Int) -> Duration {
        guard !sorted.isEmpty else { return .zero }
        return sorted[max(1, (percent * sorted.count + 99) / 100) - 1]
    }

    /// The numbers by name, from `min` to `max`.
    var figures: KeyValuePairs<String, Duration> {
        [
            "min": percentile(0), "mean": mean, "p50": percentile(50), "p90": percentile(90), "p99": percentile(99),
            "max": percentile(100),
        ]
    }

    /// The ranges from that of the shortest latency to that of the longest.
    var histogram: [Group] {
        var groups: [Group] = []
        var rest = sorted[...]
        for limit in Self.limits.map(Optional.some) + [nil] where !rest.isEmpty {
            let end = limit.map { limit in rest.firstIndex { $0 >= limit } ?? rest.endIndex } ?? rest.endIndex
            let count = end - rest.startIndex
            if count > 0 || !groups.isEmpty { groups.append(Group(limit: limit, count: count)) }
            rest = rest[end...]
        }
        return groups
    }

    var table: Table {
        let groups = histogram
        let largest = groups.map(\.count).max() ?? 0
        return Table(
            ["RESPONSES": .right, "SHARE": .right, "": .left, "LATENCY": .left],
            rows: groups.map { group in
                [
                    String(group.count), Quantity.share(group.count, of: sorted.count),
                    Table.bar(group.count, of: largest), group.limit.map { "< \(Quantity.time($0))" } ?? "longer",
                ]
            })
    }

    var form: JSONObject {
        let figures = figures.map { ($0.key, Quantity.milliseconds($0.value)) }
        return [
            "milliseconds": Dictionary(figures) { $1 },
            "histogram": histogram.map { group -> JSONObject in
                ["below": group.limit.map(Quantity.milliseconds), "responses": group.count]
            },
        ]
    }
}
#endif
