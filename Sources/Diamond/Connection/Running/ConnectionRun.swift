import DiamondSQLite
import Foundation

/// A run of a connection, from its start until its outcome, in one task. A pause abandons the run, and the resume
/// begins another.
final class ConnectionRun: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isCanceled = false
        var isOver = false
        /// Whether the task has ended.
        var hasLeft = false
        /// The number of waits under way, other than for the wire.
        var waits = 0
        /// The closure that is called when the priority changes while the run waits.
        var onPriorityChange: (@Sendable (RequestPriority) -> Void)?
    }

    private let state = Guarded(State())
    private let connection: Connection
    private let gate: StartGate
    let startedAt: LogPosition

    init(of connection: Connection, at gate: StartGate, startedAt: LogPosition = .start) {
        self.connection = connection
        self.gate = gate
        self.startedAt = startedAt
    }

    /// Starts the task. The gate calls this once.
    func begin() {
        // Detached: it must not inherit the task-local values of the thread that starts it.
        let task = Task.detached { [self] in
            await connection.perform(self)
            leave()
        }
        let isCanceled = state.withLock { state in
            // The task may have ended already.
            if !state.hasLeft { state.task = task }
            return state.isCanceled
        }
        if isCanceled { task.cancel() }
    }

    private func leave() {
        let isActive = state.withLock { state in
            state.isOver = true
            state.hasLeft = true
            state.task = nil
            state.onPriorityChange = nil
            return state.waits == 0
        }
        if isActive { gate.leave() }
    }

    /// Cancels the task. Its outcome still counts.
    func cancel() {
        let task = state.withLock { state in
            state.isCanceled = true
            return state.task
        }
        task?.cancel()
    }

    /// Marks the run as over: its outcome no longer counts.
    func end() { state.withLock { $0.isOver = true } }

    /// Cancels the task. Its outcome no longer counts.
    func abandon() {
        end()
        cancel()
    }

    func priorityChanged() {
        let change = state.withLock { $0.onPriorityChange }
        change?(priority)
    }
}

extension ConnectionRun: CallerRun {
    var isOver: Bool { state.withLock { $0.isOver } }

    var priority: RequestPriority { RequestPriority(connection.queuePriority) }

    func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?) {
        let old = state.withLock { state in
            defer { state.onPriorityChange = change }
            return state.onPriorityChange
        }
        // Released outside the lock.
        withExtendedLifetime(old) {}
    }

    func setWaiting(_ isWaiting: Bool) {
        let isNew = state.withLock { state in
            // A shared exchange may continue after the run that has started it.
            guard !state.hasLeft else { return false }
            state.waits += isWaiting ? 1 : -1
            return state.waits == (isWaiting ? 1 : 0)
        }
        if isNew { gate.recordWait(isBeginning: isWaiting) }
    }

    func receive(_ event: ExchangeEvent) { connection.receive(event, of: self) }
    func beginIfAllowed() -> Bool { connection.beginIfAllowed(self) }
    func concludeIfAllowed() -> Bool { connection.concludeIfAllowed(self) }
    func recordIfAllowed() -> Bool { connection.recordIfAllowed(self) }
    var isAwaited: Bool { connection.isAwaited }
    var resumeSlot: ResumeSlot { connection.resumeSlot }
}

extension RequestPriority {
    /// Creates the priority of an operation. A value between two named ones counts as the lower one.
    init(_ priority: Operation.QueuePriority) {
        self =
            switch priority.rawValue {
            case ..<Operation.QueuePriority.low.rawValue: .veryLow
            case ..<Operation.QueuePriority.normal.rawValue: .low
            case ..<Operation.QueuePriority.high.rawValue: .normal
            case ..<Operation.QueuePriority.veryHigh.rawValue: .high
            default: .veryHigh
            }
    }
}
