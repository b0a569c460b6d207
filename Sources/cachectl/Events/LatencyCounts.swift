#if Tools
/// The number of requests by latency. Latencies are rounded to two digits, so that any number of them takes at most 90
/// counters for each power of ten.
struct LatencyCounts {
    private(set) var counts: [Duration: Int] = [:]
    private var total = 0

    mutating func add(_ latency: Duration, count: Int = 1) {
        counts[Self.rounded(latency), default: 0] += count
        total += count
    }

    mutating func add(_ other: LatencyCounts) { for (latency, count) in other.counts { add(latency, count: count) } }

    /// Returns the nearest-rank percentile, as ``Latencies`` does; `nil` without latencies.
    ///
    /// - Parameter percent: from 0 to 100.
    func percentile(_ percent: Int) -> Duration? {
        var rank = max(1, (percent * total + 99) / 100)
        for (latency, count) in counts.sorted(by: { $0.key < $1.key }) {
            rank -= count
            if rank <= 0 { return latency }
        }
        return nil
    }

    /// Returns a duration of at least a microsecond, with two digits.
    private static func rounded(_ latency: Duration) -> Duration {
        let microseconds = max(1, latency / .microseconds(1))
        var unit = 1.0
        while microseconds / unit >= 100 { unit *= 10 }
        return .microseconds(Int64((microseconds / unit).rounded() * unit))
    }
}
#endif
