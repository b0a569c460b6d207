/// The effect on a connection when a task that waits for its response is canceled. The task itself gets the error
/// `cancelled` at once in every case.
public enum CanceledWait: Sendable {
    /// The connection is canceled unless other tasks wait for its response. Callbacks, dependents and batches do not
    /// count.
    case cancelIfAlone
    /// The connection is canceled, also for other tasks that wait.
    case cancel
    /// The connection continues.
    case leave

    /// Whether the connection is canceled.
    ///
    /// - Parameter others: the number of other tasks that wait.
    func cancels(others: Int) -> Bool {
        switch self {
        case .cancelIfAlone: others == 0
        case .cancel: true
        case .leave: false
        }
    }
}

/// The tasks that wait for the outcome of a connection.
struct ConnectionWaiters {
    typealias Continuation = CheckedContinuation<ConnectionLife.Outcome, Never>

    private var waiting: [(number: Int, continuation: Continuation)] = []
    private var lastNumber = 0

    var count: Int { waiting.count }

    /// Returns a number for a task that is about to wait.
    mutating func makeNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    mutating func add(_ continuation: Continuation, number: Int) { waiting.append((number, continuation)) }

    /// Removes all tasks. The caller resumes them outside of the lock.
    mutating func removeAll() -> [Continuation] {
        defer { waiting = [] }
        return waiting.map(\.continuation)
    }

    /// The next step for a task that is canceled.
    enum Leaving {
        /// The task does not wait yet, or is resumed already.
        case nothing
        /// Cancel the connection, which resumes the task.
        case cancel
        /// Resume the task.
        case resume(Continuation)
    }

    /// Removes a task that is canceled, unless the connection is to be canceled with it.
    mutating func leave(_ number: Int, with effect: CanceledWait) -> Leaving {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return .nothing }
        guard !effect.cancels(others: waiting.count - 1) else { return .cancel }
        return .resume(waiting.remove(at: index).continuation)
    }
}
