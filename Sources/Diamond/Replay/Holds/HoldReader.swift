import DiamondSQLite
import Dispatch

/// A reader of holds. It reads on demand, and again a second later if a read failed.
final class HoldReader: Sendable {
    private struct Retries {
        var next: Task<Void, Never>?
        var isPolling = false
        var isClosed = false
    }

    private let clock: any Clock<Duration>
    private let read: @Sendable () -> Set<ReplayHold>?
    private let notify: @Sendable (Set<ReplayHold>) -> Void
    // Locked while reading and notifying, so that an older result is never reported after a newer one.
    private let last = Guarded<Set<ReplayHold>>([])
    private let retries = Guarded(Retries())

    init(
        clock: any Clock<Duration>,
        read: @escaping @Sendable () -> Set<ReplayHold>?,
        notify: @escaping @Sendable (Set<ReplayHold>) -> Void
    ) {
        self.clock = clock
        self.read = read
        self.notify = notify
    }

    /// Reads the holds, and reports them if they have changed.
    func refresh() {
        let hasRead = last.withLock { last in
            guard let holds = read() else { return false }
            if holds != last {
                last = holds
                notify(holds)
            }
            return true
        }
        scheduleNext(hasRead: hasRead)
    }

    /// Reads once a second, from the next ``refresh()`` on.
    func poll() { retries.withLock { $0.isPolling = true } }

    private func scheduleNext(hasRead: Bool) {
        retries.withLock { retries in
            guard !retries.isClosed, retries.next == nil, retries.isPolling || !hasRead else { return }
            // Detached, so that the task does not inherit the task-local values of a caller.
            retries.next = Task.detached { [weak self, clock] in
                guard (try? await clock.sleep(for: .seconds(1))) != nil else { return }
                self?.retries.withLock { $0.next = nil }
                // A read may wait for a server that does not answer, which must not hold a thread that tasks share.
                DispatchQueue.global().async { [weak self] in self?.refresh() }
            }
        }
    }

    func close() {
        let next = retries.withLock { retries in
            retries.isClosed = true
            return retries.next
        }
        next?.cancel()
    }
}
