/// The run of a connection, as the pipeline knows it. A pause gives a run up; the next one begins from the start.
protocol CallerRun: AnyObject, PriorityWaiter {
    /// The instant at which the run began.
    var startedAt: InvalidationLog.Instant { get }
    /// Whether the run has ended, or was given up.
    var isOver: Bool { get }

    /// Notes that the run waits for something else than the wire, or no longer: meanwhile another connection may start.
    func stepAside(_ isAside: Bool)
    func receive(_ event: ExchangeEvent)

    /// Whether the run may send its request, for the first time or again. A run that has sent nothing, and is paused, is given
    /// up.
    func mayBegin() -> Bool
    /// Whether the run may do what cannot be undone; from then on no pause gives it up.
    func mayConclude() -> Bool
    /// Whether the outcome of the run may be written down, canceled or not; from then on no pause gives it up.
    func mayRecord() -> Bool

    /// The place for what a paused run has received that no store may keep.
    var resumeSlot: ResumeSlot { get }
}
