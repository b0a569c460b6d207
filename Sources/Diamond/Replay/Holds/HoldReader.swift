import DiamondSQLite

/// A reader of holds. It reads on demand, and again a second later if it could not read.
final class HoldReader: Sendable {
    private struct Looks {
        var next: Task<Void, Never>?
        var areForEver = false
        var areOver = false
    }

    private let clock: any Clock<Duration>
    private let read: @Sendable () -> Set<ReplayHold>?
    private let tell: @Sendable (Set<ReplayHold>) -> Void
    // One who has read before must not tell after another.
    private let turn = Guarded<Set<ReplayHold>>([])
    private let looks = Guarded(Looks())

    init(
        clock: any Clock<Duration>,
        read: @escaping @Sendable () -> Set<ReplayHold>?,
        tell: @escaping @Sendable (Set<ReplayHold>) -> Void
    ) {
        (self.clock, self.read, self.tell) = (clock, read, tell)
    }

    func look() {
        let hasSeen = turn.withLock { known in
            guard let holds = read() else { return false }
            if holds != known {
                known = holds
                tell(holds)
            }
            return true
        }
        lookAgain(unless: hasSeen)
    }

    /// Reads once a second from now on.
    func lookForEver() { looks.withLock { $0.areForEver = true } }

    private func lookAgain(unless hasSeen: Bool) {
        looks.withLock { looks in
            guard !looks.areOver, looks.next == nil, looks.areForEver || !hasSeen else { return }
            // Detached: with the task-locals of nobody who has looked.
            looks.next = Task.detached { [weak self, clock] in
                guard (try? await clock.sleep(for: .seconds(1))) != nil else { return }
                self?.looks.withLock { $0.next = nil }
                self?.look()
            }
        }
    }

    func close() {
        let next = looks.withLock { looks in
            looks.areOver = true
            return looks.next
        }
        next?.cancel()
    }
}
