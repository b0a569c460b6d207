import DiamondSQLite
import Dispatch

/// A reader of holds. It reads on demand, and again a second later if a read failed.
final class HoldReader: Sendable {
    private struct Retries {
        var next: Task<Void, Never>?
        var isPolling = false
        /// Whether a read is about to begin on the queue.
        var isDue = false
        var isClosed = false
    }

    private let clock: any Clock<Duration>
    private let queue: DispatchQueue?
    private let read: @Sendable () -> Set<ReplayHold>?
    private let notify: @Sendable (Set<ReplayHold>) -> Void
    // Locked while reading and notifying, so that an older result is never reported after a newer one.
    private let last = Guarded<Set<ReplayHold>>([])
    private let retries = Guarded(Retries())

    /// - Parameters:
    ///   - clock: the clock for the second until the next read.
    ///   - mayWait: whether a read may wait for a server. Then ``refresh()`` does not wait for it: a read must not hold
    ///     a thread that tasks share.
    ///   - read: returns the holds; `nil` if they cannot be read.
    ///   - notify: receives the holds, on one thread at a time. It must return quickly.
    init(
        clock: any Clock<Duration>,
        mayWait: Bool,
        read: @escaping @Sendable () -> Set<ReplayHold>?,
        notify: @escaping @Sendable (Set<ReplayHold>) -> Void
    ) {
        self.clock = clock
        queue = mayWait ? DispatchQueue(label: "diamond.holds") : nil
        self.read = read
        self.notify = notify
    }

    /// Reads the holds, and reports them if they have changed. Returns after that, or at once if a read may wait.
    func refresh() {
        guard let queue else { return readNow() }
        let isFirst = retries.withLock { retries in
            defer { retries.isDue = true }
            return !retries.isDue && !retries.isClosed
        }
        guard isFirst else { return }
        queue.async { [weak self] in
            // A change from now on needs another read.
            self?.retries.withLock { $0.isDue = false }
            self?.readNow()
        }
    }

    private func readNow() {
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
                self?.refresh()
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
