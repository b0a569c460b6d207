import DiamondSQLite

/// An observer of the transitions of a queue's jobs that this process makes.
package final class TransitionWatch: Sendable {
    private let queue: ReplayQueue
    private let number: Int
    private let changed: Guarded<Set<ReplayJob.ID>>
    private let signal: Signal

    package init(_ queue: ReplayQueue) {
        let changed = Guarded<Set<ReplayJob.ID>>([])
        let signal = Signal()
        self.queue = queue
        self.changed = changed
        self.signal = signal
        number = queue.listeners.add { transitions in
            changed.withLock { $0.formUnion(transitions.map(\.jobID)) }
            signal.wake()
        }
    }

    deinit { queue.listeners.remove(number) }

    /// Returns the jobs that have changed since the last call.
    package func takeChanges() -> Set<ReplayJob.ID> {
        changed.withLock { changed in
            if changed.isEmpty { return [] }
            defer { changed = [] }
            return changed
        }
    }

    /// Waits for the next change, or for the task's cancellation. Only one task may wait at a time.
    package func wait() async { await signal.wait() }
}
