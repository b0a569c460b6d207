import Foundation

/// Two ways to do the same work, side by side in interleaved rounds.
///
/// The machine's speed drifts; within one round both meet the same. So the figure is the median of the rounds' ratios,
/// and who goes first changes from round to round. One round before counts for nothing.
struct Race {
    var rounds = 11
    let ours: () async throws -> Void
    let peer: () async throws -> Void

    /// The ratio of ours to the peer's.
    func ratio(of measure: (Effort) -> Double) async throws -> Double {
        try await ratio { work in measure(try await Effort.of(work)) }
    }

    /// - Parameter measure: does the work it is given, and says what came of it, in seconds.
    func ratio(measuring measure: Measure) async throws -> Double {
        var ratios: [Double] = []
        for round in 0...rounds {
            let (ours, peer) = try await round % 2 == 0 ? (measure(ours), measure(peer)) : reversed(measure)
            if round > 0 { ratios.append(ours / peer) }
            trace(round, ours, peer)
        }
        return ratios.median
    }

    typealias Measure = (() async throws -> Void) async throws -> Double

    private func reversed(_ measure: Measure) async throws -> (Double, Double) {
        let peer = try await measure(peer)
        return (try await measure(ours), peer)
    }

    /// With `BENCHMARK_TRACE` in the environment every round is told.
    private func trace(_ round: Int, _ ours: Double, _ peer: Double) {
        guard ProcessInfo.processInfo.environment["BENCHMARK_TRACE"] != nil else { return }
        FileHandle.standardError.write(Data("round \(round): ours \(ours) s, peer \(peer) s\n".utf8))
    }
}

extension [Double] {
    var median: Double {
        let sorted = sorted()
        let middle = count / 2
        return count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}
