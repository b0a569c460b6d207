import DiamondSQLite

/// The replayer that an engine runs until it is closed or deallocated (``Engine/Configuration/Replays/automatically``).
final class AutomaticReplay: Sendable {
    private struct State {
        var isStopped = false
        var replayer: Replayer?
    }

    /// The time between two tries to open the queue, for example before a phone is unlocked for the first time.
    private static let pause = Duration.seconds(60)

    private let state = Guarded(State())
    private let stops = Signal()
    private let clock: any Clock<Duration>

    /// - Parameter clock: the clock for the time between two tries.
    init(clock: any Clock<Duration>) { self.clock = clock }

    /// Runs a replayer in a task of its own.
    ///
    /// - Parameters:
    ///   - open: opens the queue and makes the replayer.
    ///   - report: receives the errors of `open`.
    func start(
        _ open: @escaping @Sendable () throws(ReplayError) -> Replayer,
        reportingFailure report: @escaping @Sendable (ReplayError) -> Void
    ) {
        // Detached: it outlives the code that creates the engine, whose task-local values are not its own.
        Task.detached { [self] in await run(open, reportingFailure: report) }
    }

    private func run(
        _ open: () throws(ReplayError) -> Replayer, reportingFailure report: (ReplayError) -> Void
    ) async {
        while !state.withLock({ $0.isStopped }) {
            do throws(ReplayError) {
                let replayer = try open()
                state.withLock { $0.replayer = replayer }
                return await replayer.runUnlessStopped { [state] in state.withLock { $0.isStopped } }
            } catch {
                report(error)
                guard error.isTransientWhenOpen else { return }
                await stops.wait(within: TimeLimit(Self.pause, by: clock))
            }
        }
    }

    /// Ends the run. Running attempts finish, and no more jobs are claimed.
    func stop() {
        let replayer = state.withLock { state in
            state.isStopped = true
            return state.replayer
        }
        replayer?.stop()
        stops.wake()
    }
}
