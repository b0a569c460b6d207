/// The run of a connection, as the pipeline sees it. A pause may give up a run. The next run then begins from the
/// start.
protocol CallerRun: PriorityWaiter {
    /// The position in the log of invalidations at which the run began.
    var startedAt: LogPosition { get }
    /// Whether the run has ended, or a pause has given it up.
    var isOver: Bool { get }

    /// Notes whether the run waits for something other than the wire. Meanwhile another connection may start.
    func setWaiting(_ isWaiting: Bool)
    func receive(_ event: ExchangeEvent)

    /// Begins an attempt, and returns `true`; gives the run up and returns `false` if the connection is paused.
    func beginIfAllowed() -> Bool
    /// Begins a step that cannot be undone. From then on no pause gives up the run.
    ///
    /// - Returns: `false` if the run was canceled or given up: the step must not begin.
    func concludeIfAllowed() -> Bool
    /// Begins to write the outcome of the run, even if the run was canceled. From then on no pause gives up the run.
    ///
    /// - Returns: `false` if the run was given up: nothing must be written.
    func recordIfAllowed() -> Bool
    /// Whether a task or a callback waits for the outcome of the run, which is still wanted.
    var isAwaited: Bool { get }

    /// The slot for a partial response of a paused run that may not be stored.
    var resumeSlot: ResumeSlot { get }
}
