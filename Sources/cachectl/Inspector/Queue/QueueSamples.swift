#if Tools
import Diamond
import DiamondSQLite

/// The depths of the queue while the server runs: one in 10 seconds, for half an hour.
final class QueueSamples: Sendable {
    private static let interval = Duration.seconds(10)
    private static let capacity = 180
    /// The time that counting the jobs of lanes may take: an index has their states, not their lanes.
    private static let patience = Duration.milliseconds(150)

    private let stored = Guarded<[QueueSample]>([])

    /// The samples, the oldest first.
    var all: [QueueSample] { stored.withLock { $0 } }

    /// Adds a sample, and forgets the oldest one if there are too many.
    func add(_ sample: QueueSample) {
        stored.withLock { samples in
            samples.append(sample)
            samples.removeFirst(max(0, samples.count - Self.capacity))
        }
    }

    private func add(of queue: ReplayQueue) throws(ReplayError) {
        let end = ContinuousClock.now + Self.patience
        let known = Set(all.last?.lanes.keys ?? [:].keys)
        add(try QueueSample(of: queue, lanes: known) { ContinuousClock.now > end })
    }

    /// Returns the samples. Reads the first one if there is none yet.
    func all(of queue: ReplayQueue) throws(ReplayError) -> [QueueSample] {
        if all.isEmpty { try add(of: queue) }
        return all
    }

    /// Adds samples until the task is canceled. While the queue cannot be read, it adds none.
    func run(_ queue: () async throws -> ReplayQueue) async {
        while !Task.isCancelled {
            if let queue = try? await queue() { try? add(of: queue) }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
#endif
