import Foundation

/// The life of a connection as a value that says what to do; ``Connection`` does it.
///
/// | | start | cancel | pause | resume | arrive |
/// |---|---|---|---|---|---|
/// | ready | run | settle | – | – | – |
/// | ready, paused | – | settle | – | – | – |
/// | ready, canceled | finish | – | – | – | – |
/// | executing | – | interrupt | suspend, or – | – | finish |
/// | executing, and at its end | – | interrupt | – | – | finish |
/// | executing, canceled | – | – | – | – | finish |
/// | paused | – | end | – | run | – |
/// | paused, and not to be repeated | – | interrupt | – | – | – |
/// | paused, and answered meanwhile | – | end | – | finish | – |
/// | finished | – | – | – | – | – |
///
/// Pauses nest: what is said of pause and resume holds for the first and the last.
struct ConnectionLife {
    typealias Outcome = Result<Response, ConnectionError>

    enum Action: Equatable {
        case nothing
        /// Begin the work.
        case run
        /// Tell those who wait, and the work to stop; its end will arrive.
        case interrupt
        /// Tell those who wait; nothing is under way, and the end arrives now.
        case end
        /// Stop the work; its end counts no more.
        case suspend
        /// Tell those who wait; the operation itself is not finished.
        case settle
        /// Tell those who wait, if nobody has yet, and finish the operation.
        case finish
    }

    private enum Phase { case ready, started, finished }

    private var phase = Phase.ready
    // Beside what is a byte, and as small as it may be: a queue may hold very many.
    /// Whether a run is under way, or about to be.
    private(set) var isUnderWay = false
    /// Whether the run may have sent something.
    private var hasBegun = false
    /// Whether the run does what cannot be undone, and no pause gives it up.
    private var isConcluding = false
    private var pauses: UInt32 = 0
    /// The outcome that arrived while the connection was paused.
    private var held = IndirectOptional<Outcome>.none
    private var settled = IndirectOptional<Outcome>.none
    private var attempt = 1
    private var waitsUntil: Date?

    /// The outcome. It is known before the operation has finished where the connection was canceled.
    private(set) var outcome: Outcome? {
        get { settled.value }
        set { settled = IndirectOptional(newValue) }
    }

    var isExecuting: Bool { phase == .started }
    var isFinished: Bool { phase == .finished }

    var state: ConnectionState {
        switch phase {
        case .finished: return .finished(outcome.map(\.ending) ?? .cancelled)
        case .ready: return pauses > 0 ? .paused : .ready
        case .started:
            // Until its end, also where it has been canceled: it goes on no more.
            if pauses > 0 { return .paused }
            return waitsUntil.map { .waiting(until: $0) } ?? .executing(attempt: attempt)
        }
    }

    /// Whether the outcome is known.
    var isSettled: Bool {
        if case .some = settled { true } else { false }
    }

    /// The outcome, or what will be one when the last pause has ended.
    var known: Outcome? { outcome ?? held.value }

    /// Ends the connection before it has begun, with a known outcome.
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
    // Foundation's queue on Linux. Who awaits the response need not wait for that.
    //
    // - Parameter job: that the request is kept as; asked for only where this cancels it.
    mutating func cancel(of job: @autoclosure () -> ReplayJob.ID? = nil) -> Action {
        guard outcome == nil, phase != .finished else { return .nothing }
        outcome = .failure(ConnectionError(cancelledOf: job()))
        guard phase == .started else { return .settle }
        return isUnderWay ? .interrupt : .end
    }

    /// - Parameter isRepeatable: whether what was sent may be sent again. A run that has sent what may not is let come to its end,
    ///   which is told when the last pause has ended.
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
        if let held = held.value {
            outcome = held
            return finish()
        }
        return isUnderWay ? .nothing : begin()
    }

    /// Whether the run may send its request, for the first time or again: one that is paused is given up, because nothing of what
    /// comes has been sent.
    mutating func mayBegin() -> Bool {
        guard phase == .started, isUnderWay else { return false }
        if pauses > 0, outcome == nil {
            isUnderWay = false
            return false
        }
        hasBegun = true
        return true
    }

    /// Whether the run may do what cannot be undone; from then on no pause gives it up. `false` where it is not wanted any more.
    mutating func mayConclude() -> Bool { outcome == nil && mayRecord() }

    /// Whether the outcome of the run may be written down, wanted or not; from then on no pause gives it up.
    mutating func mayRecord() -> Bool {
        guard phase == .started, isUnderWay else { return false }
        isConcluding = true
        return true
    }

    /// Notes that the run has come to its next attempt, or waits for it.
    mutating func proceed(_ event: ExchangeEvent) -> Action {
        guard phase == .started else { return .nothing }
        switch event {
        case .attempt(let attempt):
            self.attempt = attempt
            waitsUntil = nil
        case .waiting(let date): waitsUntil = date
        case .began: waitsUntil = nil
        case .aside, .personal: break
        }
        return .nothing
    }

    /// Takes the outcome of a run that has ended.
    mutating func arrive(_ outcome: Outcome) -> Action {
        guard phase == .started, isUnderWay || self.outcome != nil else { return .nothing }
        isUnderWay = false
        guard pauses == 0 || self.outcome != nil else {
            held = .some(outcome)
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
