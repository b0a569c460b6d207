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
    /// Whether the run is about to be taken up.
    private var awaitsRunner = false
    /// Whether the run does what cannot be taken back, and is let come to its end.
    private var isConcluding = false
    private var pauses: UInt32 = 0
    /// What arrived while it was paused.
    private var held = Boxed<Outcome>.none
    private var settled = Boxed<Outcome>.none
    /// Tells the run whose end counts from those that a pause has ended.
    private(set) var run = 0
    private var attempt = 1
    private var waitsUntil: Date?

    /// Known before the operation is finished when it was canceled.
    private(set) var outcome: Outcome? {
        get { settled.value }
        set { settled = Boxed(newValue) }
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

    /// Ends before it has begun, with what another has come to.
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
        run += 1
        (isUnderWay, awaitsRunner, isConcluding) = (true, true, false)
        (attempt, waitsUntil) = (1, nil)
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

    /// - Parameters:
    ///   - isRepeatable: whether the work may be stopped and done again. What may not is let come to its end, which is told
    ///     when the last pause has ended.
    ///   - isWithdrawn: whether the work has been taken out of its line, and will not go on by itself.
    mutating func pause(isRepeatable: Bool, isWithdrawn: Bool = false) -> Action {
        guard outcome == nil, phase != .finished else { return .nothing }
        pauses += 1
        guard isUnderWay, isWithdrawn || (isRepeatable && !isConcluding && pauses == 1) else { return .nothing }
        giveUpRun()
        return .suspend
    }

    private mutating func giveUpRun() {
        run += 1
        (isUnderWay, awaitsRunner) = (false, false)
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

    /// - Returns: the number of the run to be done; `nil` where somebody does it already, or it is not to be done.
    mutating func takeRun() -> Int? {
        guard phase == .started, awaitsRunner, !isHeldBack() else { return nil }
        awaitsRunner = false
        return run
    }

    /// Whether it is paused, and nothing has been sent of the run, or all would be again: then that is given up.
    private mutating func isHeldBack() -> Bool {
        guard pauses > 0, outcome == nil else { return false }
        giveUpRun()
        return true
    }

    /// Lets a run that has sent nothing yet, or is about to send it all again, go on to the wire; `false` where it is paused,
    /// or does not count any more.
    mutating func begins(_ number: Int) -> Bool {
        phase == .started && number == run && isUnderWay && !isHeldBack()
    }

    /// Lets a run do what cannot be taken back: from then on no pause gives it up. `false` where it is not wanted any more.
    mutating func concludes(_ number: Int) -> Bool {
        wants(number) && records(number)
    }

    /// Lets a run write down what it has come to, also where it is not wanted any more: from then on no pause gives it up.
    /// `false` where one has.
    mutating func records(_ number: Int) -> Bool {
        guard phase == .started, number == run, isUnderWay else { return false }
        isConcluding = true
        return true
    }

    /// Lets a run that has waited without a task be taken up again; `false` where it does not count any more.
    mutating func takeUp(_ number: Int) -> Bool {
        guard begins(number) else { return false }
        awaitsRunner = true
        return true
    }

    /// A run has come to its next attempt, or waits for it.
    mutating func proceed(_ number: Int, _ event: ExchangeEvent) -> Action {
        guard phase == .started, number == run else { return .nothing }
        switch event {
        case .attempt(let attempt): (self.attempt, waitsUntil) = (attempt, nil)
        case .waiting(let date): waitsUntil = date
        case .began, .aside, .personal: break
        }
        return .nothing
    }

    /// A run has come to its end.
    mutating func arrive(_ outcome: Outcome, from number: Int) -> Action {
        guard phase == .started, number == run, isUnderWay || self.outcome != nil else { return .nothing }
        isUnderWay = false
        guard pauses == 0 || self.outcome != nil else {
            held = .some(outcome)
            return .nothing
        }
        self.outcome = self.outcome ?? outcome
        return finish()
    }

    /// Whether the run with this number is still wanted.
    func wants(_ number: Int) -> Bool { phase == .started && number == run && outcome == nil }
}

extension ConnectionLife.Outcome {
    var ending: ConnectionState.Ending {
        switch self {
        case .success: .success
        case .failure(let error): error.code == .cancelled ? .cancelled : .failure
        }
    }
}
