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
        var ratios: [Double] = []
        for round in 0...rounds {
            let (ours, peer) = try await round % 2 == 0 ? (effort(ours), effort(peer)) : reversed()
            if round > 0 { ratios.append(measure(ours) / measure(peer)) }
            trace(round, measure(ours), measure(peer))
        }
        return ratios.median
    }

    private func reversed() async throws -> (Effort, Effort) {
        let peer = try await effort(peer)
        return (try await effort(ours), peer)
    }

    private func effort(_ work: () async throws -> Void) async throws -> Effort { try await Effort.of(work) }

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
