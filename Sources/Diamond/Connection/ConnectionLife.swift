import Foundation

/// The state machine of a connection: a value that returns actions, which ``Connection`` performs.
///
/// | | start | cancel | pause | resume | run ends |
/// |---|---|---|---|---|---|
/// | ready | run | settle | – | – | – |
/// | ready, paused | – | settle | – | – | – |
/// | ready, canceled | finish | – | – | – | – |
/// | executing | – | interrupt | suspend, or – | – | finish |
/// | executing, concluding | – | interrupt | – | – | finish |
/// | executing, canceled | – | – | – | – | finish |
/// | paused | – | end | – | run | – |
/// | paused, not repeatable | – | interrupt | – | – | – |
/// | paused, response known | – | end | – | finish | – |
/// | finished | – | – | – | – | – |
///
/// Pauses nest: the table shows the first pause and the last resume.
struct ConnectionLife {
    typealias Outcome = Result<Response, ConnectionError>

    enum Action: Equatable {
        case nothing
        /// Begin a run.
        case run
        /// Resume the waiters and cancel the run. The end of the run follows.
        case interrupt
        /// Resume the waiters and finish. There is no run.
        case end
        /// Cancel the run, and ignore its outcome.
        case suspend
        /// Resume the waiters. The operation itself has not finished.
        case settle
        /// Resume the remaining waiters, and finish the operation.
        case finish
    }

    private enum Phase { case ready, started, finished }

    private var phase = Phase.ready
    // Small members together, because a queue may hold very many connections.
    /// Whether there is a run, or one is about to begin.
    private(set) var isUnderWay = false
    /// Whether the run may have sent something.
    private var hasBegun = false
    /// Whether the run is doing something that cannot be undone. A pause does not abandon it then.
    private var isConcluding = false
    private var pauses: UInt32 = 0
    /// The outcome that arrived while the connection was paused.
    private var held: Outcome?
    private var attempt = 1
    private var waitsUntil: Date?

    /// The outcome. If the connection was canceled, it is known before the operation has finished.
    private(set) var outcome: Outcome?

    var isExecuting: Bool { phase == .started }
    var isFinished: Bool { phase == .finished }

    var state: ConnectionState {
        switch phase {
        case .finished: return .finished(outcome.map(\.ending) ?? .cancelled)
        case .ready: return pauses > 0 ? .paused : .ready
        case .started:
            // Also after a cancel during the pause: the connection does not continue.
            if pauses > 0 { return .paused }
            return waitsUntil.map { .waiting(until: $0) } ?? .executing(attempt: attempt)
        }
    }

    /// Whether the outcome is known.
    var isSettled: Bool { outcome != nil }

    /// The outcome, even if it takes effect only when the last pause ends.
    var known: Outcome? { outcome ?? held }

    /// Finishes a connection that has not started, with a known outcome.
    mutating func restore(_ outcome: Outcome) -> Action {
        guard phase == .ready else { return .nothing }
        self.outcome = outcome
        return finish()
    }

    mutating func start() -> Action {
        guard phase == .ready else { return .nothing }
        guard outcome == nil else { return finish() }
        phase = .started
        return pauses > 0 ? .nothing : begin()
    }

    private mutating func begin() -> Action {
        isUnderWay = true
        hasBegun = false
        isConcluding = false
        attempt = 1
        waitsUntil = nil
        return .run
    }

    private mutating func finish() -> Action {
        phase = .finished
        return .finish
    }

    // A canceled operation that waits in a queue finishes only when the queue starts it: finishing it here crashes
    // Foundation's queue on Linux. Tasks that await the response are resumed before that.
    //
    // - Parameter job: the job of the request; evaluated only if this call cancels the connection.
    mutating func cancel(of job: @autoclosure () -> ReplayJob.ID? = nil) -> Action {
        guard outcome == nil, phase != .finished else { return .nothing }
        outcome = .failure(ConnectionError(cancelledOf: job()))
        guard phase == .started else { return .settle }
        return isUnderWay ? .interrupt : .end
    }

    /// - Parameter isRepeatable: whether the request may be sent again. If not, a run that may have sent it continues,
    ///   and its outcome takes effect when the last pause ends.
    mutating func pause(isRepeatable: Bool) -> Action {
        guard outcome == nil, phase != .finished else { return .nothing }
        pauses += 1
        guard isUnderWay, pauses == 1, !isConcluding, isRepeatable || !hasBegun else { return .nothing }
        isUnderWay = false
        return .suspend
    }

    mutating func resume() -> Action {
        guard pauses > 0, outcome == nil else { return .nothing }
        pauses -= 1
        guard pauses == 0, phase == .started else { return .nothing }
        if let held {
            outcome = held
            return finish()
        }
        return isUnderWay ? .nothing : begin()
    }

    /// Lets the run send its request, for the first time or again, if it may. A paused run is abandoned instead,
    /// because it has not yet sent this request.
    ///
    /// - Returns: whether the run may send the request.
    mutating func beginIfAllowed() -> Bool {
        guard phase == .started, isUnderWay else { return false }
        if pauses > 0, outcome == nil {
            isUnderWay = false
            return false
        }
        hasBegun = true
        return true
    }

    /// Lets the run do something that cannot be undone, if the connection has no outcome yet. From then on no pause
    /// abandons the run.
    ///
    /// - Returns: `false` if the connection already has an outcome, or the run is no longer under way.
    mutating func concludeIfAllowed() -> Bool { outcome == nil && recordIfAllowed() }

    /// Lets the run record its outcome, even if the connection has an outcome already. From then on no pause abandons
    /// the run.
    ///
    /// - Returns: `false` if the run is no longer under way.
    mutating func recordIfAllowed() -> Bool {
        guard phase == .started, isUnderWay else { return false }
        isConcluding = true
        return true
    }

    /// Applies an event of the run's exchange: the next attempt, or the wait before it.
    mutating func proceed(_ event: ExchangeEvent) -> Action {
        guard phase == .started else { return .nothing }
        switch event {
        case .attempt(let attempt):
            self.attempt = attempt
            waitsUntil = nil
        case .waiting(let date): waitsUntil = date
        case .began: waitsUntil = nil
        case .permitReleased, .personal: break
        }
        return .nothing
    }

    /// Ends the run with its outcome.
    mutating func endRun(with outcome: Outcome) -> Action {
        guard phase == .started, isUnderWay || self.outcome != nil else { return .nothing }
        isUnderWay = false
        guard pauses == 0 || self.outcome != nil else {
            held = outcome
            return .nothing
        }
        self.outcome = self.outcome ?? outcome
        return finish()
    }
}

extension ConnectionLife.Outcome {
    var ending: ConnectionState.Ending {
        switch self {
        case .success: .success
        case .failure(let error): error.code == .cancelled ? .cancelled : .failure
        }
    }
}
