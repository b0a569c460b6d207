import DiamondSQLite

/// An observer of the changes of a queue's jobs that this process makes.
package final class TransitionWatch: Sendable {
    private let queue: ReplayQueue
    private let numbers: (transitions: Int, touches: Int)
    private let changed: Guarded<Set<ReplayJob.ID>>
    private let signal: Signal

    package init(_ queue: ReplayQueue) {
        let changed = Guarded<Set<ReplayJob.ID>>([])
        let signal = Signal()
        self.queue = queue
        self.changed = changed
        self.signal = signal
        let note: @Sendable (Set<ReplayJob.ID>) -> Void = { jobs in
            changed.withLock { $0.formUnion(jobs) }
            signal.wake()
        }
        numbers = (queue.listeners.add { note(Set($0.map(\.jobID))) }, queue.touches.add(note))
    }

    deinit {
        queue.listeners.remove(numbers.transitions)
        queue.touches.remove(numbers.touches)
    }

    /// A number that changes whenever others have changed the queue: other processes, and other engines of this one.
    /// `nil` if it is not known at the moment.
    package var versionByOthers: Int64? { queue.storage.versionByOthers }

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
