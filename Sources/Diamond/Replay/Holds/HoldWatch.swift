/// Tells an engine what it may not send for now: at the beginning, and at every change, be it by another process.
final class HoldWatch: Sendable {
    private let reader: HoldReader
    private let watch: QueueWatch

    /// - Parameters:
    ///   - clock: by which it looks again after a second, where what is held could not be told, and where files cannot be
    ///     watched.
    ///   - read: what is held; `nil` where that cannot be told.
    ///   - tell: called by one thread at a time, with what was read last; be short.
    init(
        _ store: Store,
        clock: any Clock<Duration>,
        read: @escaping @Sendable () -> Set<ReplayHold>?,
        tell: @escaping @Sendable (Set<ReplayHold>) -> Void
    ) {
        let reader = HoldReader(clock: clock, read: read, tell: tell)
        self.reader = reader
        // Before the first look: what is held between the two is not missed.
        watch = QueueWatch(bell: store.holdsPath) { reader.look() }
        if !watch.isWatching { reader.lookForEver() }
        look()
    }

    deinit { reader.close() }

    func look() { reader.look() }
}
