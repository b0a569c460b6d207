import Diamond
import DiamondSQLite
import Foundation

extension Benchmark {
    static let latency = Benchmark(
        name: "engine-p99",
        method: """
            time that 1 of 100 requests exceeds, through the engine with the policy noStore, 64 at a time, to the same over \
            the bare transport
            """,
        unit: "x transport",
        target: .atMost(1.5),
        measure: { try await Nginx.with { try await Latencies().ratio(64, $0.url) } }
    )
}

/// The duration of each request of a round, in seconds.
private struct Latencies {
    private let times = Guarded<[Double]>([])

    func ratio(_ width: Int, _ url: String) async throws -> Double {
        var configuration = Engine.Configuration(store: nil)
        // Like the bare transport, without a limit.
        configuration.originWidth = width
        let engine = Engine(configuration)
        let transport = CurlTransport()
        let race = Race(
            ours: { try await run(width) { try await engine.fetch(url) } },
            peer: { try await run(width) { try await transport.fetch(url) } }
        )
        let ratio = try await race.ratio { work in
            try await work()
            return takePercentile(0.99)
        }
        await transport.close()
        await engine.close()
        return ratio
    }

    private func run(_ width: Int, _ send: @escaping @Sendable () async throws -> Void) async throws {
        try await Load.run(6400, width: width) {
            let start = Effort.seconds(CLOCK_MONOTONIC)
            try await send()
            let time = Effort.seconds(CLOCK_MONOTONIC) - start
            times.withLock { $0.append(time) }
        }
    }

    /// Removes the times of the finished round, and returns their percentile.
    private func takePercentile(_ share: Double) -> Double {
        let sorted = times.withLock { times in
            defer { times.removeAll(keepingCapacity: true) }
            return times.sorted()
        }
        return sorted[Int(Double(sorted.count) * share)]
    }
}
