import DiamondSQLite

/// One run of a connection, from its start until its outcome, in one task. A pause gives a run up, and the connection has
/// another when it is resumed.
final class ConnectionRun: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isCanceled = false
        var isOver = false
        /// Whether the task has ended.
        var hasLeft = false
        /// The number of things that the run waits for, other than the wire.
        var waits = 0
        /// Takes changes of the priority while the run waits.
        var change: (@Sendable (RequestPriority) -> Void)?
    }

    private let state = Guarded(State())
    private let connection: Connection
    private let gate: StartGate
    let startedAt: InvalidationLog.Instant

    init(of connection: Connection, at gate: StartGate, startedAt: InvalidationLog.Instant = 0) {
        self.connection = connection
        self.gate = gate
        self.startedAt = startedAt
    }

    /// Starts the task; called once, by the gate.
    func begin() {
        // Detached: it has the task-local values of nobody.
        let task = Task.detached { [self] in
            await connection.perform(self)
            leave()
        }
        let isCanceled = state.withLock { state in
            // It may have ended already.
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
            state.change = nil
            return state.waits == 0
        }
        if isActive { gate.leave() }
    }

    /// Cancels the task; its end will arrive.
    func cancel() {
        let task = state.withLock { state in
            state.isCanceled = true
            return state.task
        }
        task?.cancel()
    }

    /// Notes that its outcome counts no more.
    func end() { state.withLock { $0.isOver = true } }

    /// Cancels the task; its outcome counts no more.
    func giveUp() {
        end()
        cancel()
    }

    func priorityChanged() {
        let change = state.withLock { $0.change }
        change?(priority)
    }
}

extension ConnectionRun: CallerRun {
    var isOver: Bool { state.withLock { $0.isOver } }

    var priority: RequestPriority { RequestPriority(connection.queuePriority) }

    func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?) {
        let old = state.withLock { state in
            defer { state.change = change }
            return state.change
        }
        // Freed where no lock is held.
        withExtendedLifetime(old) {}
    }

    func stepAside(_ isAside: Bool) {
        let isNew = state.withLock { state in
            // A shared exchange may go on after the run that has started it.
            guard !state.hasLeft else { return false }
            state.waits += isAside ? 1 : -1
            return state.waits == (isAside ? 1 : 0)
        }
        if isNew { gate.stepAside(isAside) }
    }

    func receive(_ event: ExchangeEvent) { connection.receive(event, of: self) }
    func mayBegin() -> Bool { connection.mayBegin(self) }
    func mayConclude() -> Bool { connection.mayConclude(self) }
    func mayRecord() -> Bool { connection.mayRecord(self) }
    var resumeSlot: ResumeSlot { connection.resumeSlot }
}
