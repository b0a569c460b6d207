import DiamondSQLite

/// Tells an engine what it may not send for now: at the beginning, and at every change, be it by another process.
final class HoldWatch: Sendable {
    let look: @Sendable () -> Void
    private let watch: QueueWatch
    /// Looks once a second where nobody tells.
    private let ticks: Task<Void, Never>?

    /// - Parameters:
    ///   - clock: by which it looks once a second where files cannot be watched.
    ///   - read: what is held; `nil` where that cannot be told.
    ///   - tell: called by one thread at a time, with what was read last; be short.
    init(
        _ store: Store,
        clock: any Clock<Duration>,
        read: @escaping @Sendable () -> Set<ReplayHold>?,
        tell: @escaping @Sendable (Set<ReplayHold>) -> Void
    ) {
        // One who has read before must not tell after another.
        let turn = Guarded<Set<ReplayHold>>([])
        let look: @Sendable () -> Void = {
            turn.withLock { known in
                guard let holds = read(), holds != known else { return }
                known = holds
                tell(holds)
            }
        }
        self.look = look
        // Before the first look: what is held between the two is not missed.
        watch = QueueWatch(bell: store.holdsPath, tell: look)
        ticks =
            watch.isWatching
            ? nil
            : Task {
                while (try? await clock.sleep(for: .seconds(1))) != nil { look() }
            }
        look()
    }

    deinit { ticks?.cancel() }
}
