/// Where a connection stands.
public enum ConnectionState: String, Hashable, Sendable {
    /// Not started.
    case ready
    /// Looking up, on the wire, or storing.
    case executing
    case finished
}

/// The life of a connection as a value that says what to do; ``Connection`` does it.
///
/// | | start | cancel | arrive |
/// |---|---|---|---|
/// | ready | run | settle | – |
/// | ready, settled by a cancel | finish | – | – |
/// | executing | – | interrupt | finish |
/// | executing, canceled | – | – | finish |
/// | finished | – | – | – |
struct ConnectionLife {
    typealias Outcome = Result<Response, ConnectionError>

    enum Action: Equatable {
        case nothing
        /// Begin the work.
        case run
        /// Tell those who wait, and the work to stop; its end will arrive.
        case interrupt
        /// Tell those who wait; the operation itself is not finished.
        case settle
        /// Tell those who wait, if nobody has yet, and finish the operation.
        case finish
    }

    private(set) var state = ConnectionState.ready
    /// Known before the operation is finished when it was canceled.
    private(set) var outcome: Outcome?

    mutating func start() -> Action {
        guard state == .ready else { return .nothing }
        guard outcome == nil else {
            state = .finished
            return .finish
        }
        state = .executing
        return .run
    }

    // A canceled operation that waits in a queue finishes only when the queue starts it: finishing it here crashes
    // Foundation's queue on Linux. Who awaits the response need not wait for that.
    mutating func cancel() -> Action {
        switch state {
        case .ready where outcome == nil:
            outcome = .failure(.cancelled)
            return .settle
        case .executing where outcome == nil:
            outcome = .failure(.cancelled)
            return .interrupt
        default: return .nothing
        }
    }

    mutating func arrive(_ outcome: Outcome) -> Action {
        guard state == .executing else { return .nothing }
        self.outcome = self.outcome ?? outcome
        state = .finished
        return .finish
    }
}
