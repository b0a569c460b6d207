/// The sources of signals for the queries of an engine. They are active from the creation until ``stop()``.
final class QueryWatch: Sendable {
    /// The time between two reads of other processes' changes.
    static let pollInterval = Duration.seconds(1)

    private let pipeline: Pipeline
    private let invalidations: Int
    private let changes: Int?
    private let answers: Int?
    private let tasks: [Task<Void, Never>]
    private let foreground: ForegroundWatch

    /// - Parameter notify: receives the signals, on any thread.
    init(_ pipeline: Pipeline, notify: @escaping @Sendable (QuerySignal) -> Void) {
        self.pipeline = pipeline
        invalidations = pipeline.invalidations.addObserver { notify(.invalidation($0)) }
        changes = pipeline.cache?.changesOnDisk.add { notify(.change($0)) }
        answers = pipeline.cache == nil ? pipeline.newAnswers.add { notify(.answer($0)) } : nil
        foreground = ForegroundWatch { notify(.foreground) }
        tasks = [Self.listen(to: pipeline.reachability, notify)] + Self.poll(pipeline, notify)
    }

    func stop() {
        pipeline.invalidations.removeObserver(invalidations)
        if let changes { pipeline.cache?.changesOnDisk.remove(changes) }
        if let answers { pipeline.newAnswers.remove(answers) }
        for task in tasks { task.cancel() }
        foreground.stop()
    }

    private static func listen(
        to reachability: any Reachability, _ notify: @escaping @Sendable (QuerySignal) -> Void
    ) -> Task<Void, Never> {
        Task.detached { [changes = reachability.changes] in
            notify(.network(isReachable: reachability.isReachable))
            for await _ in changes { notify(.network(isReachable: reachability.isReachable)) }
        }
    }

    /// Reads the changes of other processes at intervals, if there is a store.
    private static func poll(
        _ pipeline: Pipeline, _ notify: @escaping @Sendable (QuerySignal) -> Void
    ) -> [Task<Void, Never>] {
        guard let cache = pipeline.cache else { return [] }
        return [
            Task.detached { [clock = pipeline.time.clock] in
                while (try? await clock.sleep(pollInterval)) != nil {
                    cache.applyOtherProcessesChanges(isDue: true)
                    notify(.poll)
                }
            }
        ]
    }
}
