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
    /// Whether the queue was changed after the last sample.
    private let isOld = Guarded(false)

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
        isOld.withLock { $0 = false }
        add(try QueueSample(of: queue, lanes: known) { ContinuousClock.now > end })
    }

    /// Lets the next page read a sample: the queue is being changed.
    func expire() { isOld.withLock { $0 = true } }

    /// Returns the samples. Reads one if there is none yet, or after a change.
    func all(of queue: ReplayQueue) throws(ReplayError) -> [QueueSample] {
        if all.isEmpty || isOld.withLock(\.self) { try add(of: queue) }
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
