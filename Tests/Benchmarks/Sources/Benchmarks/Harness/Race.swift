import Foundation

/// A comparison of two ways to do the same work, in interleaved rounds.
///
/// The machine's speed changes over time, but hardly within one round. The figure is the median of the rounds'
/// ratios. The order alternates, and a first round does not count.
struct Race {
    var rounds = 11
    let ours: () async throws -> Void
    let peer: () async throws -> Void

    /// The ratio of ours to the peer's.
    func ratio(of measure: (Effort) -> Double) async throws -> Double {
        try await ratio { work in measure(try await Effort.of(work)) }
    }

    /// - Parameter measure: does the given work, and returns its time in seconds.
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

    /// Prints each round if the environment has `BENCHMARK_TRACE`.
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
