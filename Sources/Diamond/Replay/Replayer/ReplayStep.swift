/// The next step of a replayer's loop: a value that follows from the last claim. ``Replayer`` performs it.
///
/// | the last claim | next |
/// |---|---|
/// | got jobs, and there is room for more | claim |
/// | got none, and none can become ready before the deadline | end |
/// | got none, or as many as there is room for | wait |
/// | failed for now, and the run can wait | pause |
/// | failed otherwise | fail |
enum ReplayStep: Equatable {
    /// Claim jobs at once.
    case claim
    /// Claim jobs after a change, or when this time has passed.
    case wait(atMost: Duration)
    /// Claim jobs again after a change or a ``tick``.
    case pause
    /// End the run with an error.
    case fail(ReplayError)
    /// End the run.
    case end

    /// The polling interval if other processes' changes are not reported.
    static let tick = Duration.seconds(1)
    /// The polling interval if changes are reported. Polling is still needed, because a clock may be set, and a report
    /// may fail.
    static let longTick = Duration.seconds(15)

    /// Returns the step after a claim.
    ///
    /// - Parameters:
    ///   - count: the number of claimed jobs.
    ///   - isFull: whether there is no room for more.
    ///   - isLast: whether no job runs, or becomes ready before the run's deadline.
    ///   - isReported: whether everything that other processes do is reported.
    static func after(claiming count: Int, isFull: Bool, isLast: Bool, isReported: Bool) -> ReplayStep {
        if count > 0, !isFull { return .claim }
        if count == 0, isLast { return .end }
        return .wait(atMost: isReported ? longTick : tick)
    }

    /// Returns the step after an error.
    static func after(_ error: ReplayError, canWait: Bool) -> ReplayStep {
        canWait && error.isTransientWhenOpen ? .pause : .fail(error)
    }
}

/// The events that wake a replayer's loop while it waits.
struct ReplayWakes: Sendable {
    let signal: Signal
    let watch: any ReplayWatch
    let network = NetworkReturn()
    let origins = OriginAnswers()
}
