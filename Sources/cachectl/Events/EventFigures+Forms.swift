#if Tools
import Diamond

extension EventFigures {
    /// The hosts with the most requests first.
    private var ranked: [(host: String, requests: Requests)] {
        hosts.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map { ($0.key, $0.value) }
    }

    /// The lines of the view.
    ///
    /// - Parameters:
    ///   - seconds: the time of the events.
    ///   - jobs: the number of jobs in each state; `nil` without a queue.
    ///   - width: the columns of the terminal; `nil` for no limit.
    ///   - height: the lines of the terminal; `nil` for no limit.
    func lines(seconds: Int, jobs: CountsForm?, width: Int? = nil, height: Int? = nil) -> [String] {
        let table = Table(
            [
                "HOST": .left, "REQUESTS": .right, "PER S": .right, "HITS": .right, "P50": .right, "P99": .right,
                "FAILED": .right, "IN FLIGHT": .right,
            ],
            rows: [all.cells(of: "all", seconds: seconds)]
                + ranked.map { $0.requests.cells(of: $0.host, seconds: seconds) })
        let head = [
            "last \(seconds) s, \(programs.count == 1 ? "1 program" : "\(programs.count) programs")"
                + (dropped > 0 ? ", \(dropped) events not recorded" : ""),
            "queue: \(jobs?.text ?? "none")", "",
        ].map { line in String(line.prefix(width ?? .max)) }
        let lines = head + table.lines(width: width)
        return Array(lines.prefix(height ?? .max))
    }

    func form(seconds: Int, jobs: CountsForm?) -> JSONObject {
        all.form(seconds: seconds).adding([
            "seconds": seconds, "programs": programs.sorted(), "dropped": dropped > 0 ? dropped : nil, "queue": jobs,
            "hosts": ranked.map { $0.requests.form(seconds: seconds).adding(["host": $0.host]) },
        ])
    }
}

extension EventFigures.Requests {
    private func perSecond(_ seconds: Int) -> Double { Double(count) / Double(max(1, seconds)) }

    fileprivate func cells(of host: String, seconds: Int) -> [String] {
        func percentile(_ percent: Int) -> String { latencies.percentile(percent).map(Quantity.time) ?? "-" }
        return [
            host, String(count), Quantity.tenths(perSecond(seconds)), hitRatio.map(Quantity.percent) ?? "-",
            percentile(50), percentile(99), String(failures), String(inFlight),
        ]
    }

    fileprivate func form(seconds: Int) -> JSONObject {
        func percentile(_ percent: Int) -> Double? { latencies.percentile(percent).map(Quantity.milliseconds) }
        return [
            "requests": count, "perSecond": perSecond(seconds), "hits": hits, "misses": misses, "hitRatio": hitRatio,
            "failed": failures, "inFlight": inFlight, "p50": percentile(50), "p99": percentile(99),
        ]
    }
}
#endif
