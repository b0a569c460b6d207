/// An observer of a store's holds for an engine. It reports them at the beginning, and at every change by this or
/// another process.
final class HoldWatch: Sendable {
    private let reader: HoldReader
    private let watch: any ReplayWatch

    /// - Parameters:
    ///   - clock: the clock for the second until the next read, if a read fails or files cannot be watched.
    ///   - read: returns the holds; `nil` if they cannot be read.
    ///   - notify: receives the holds, on one thread at a time. It must return quickly.
    init(
        _ storage: any ReplayStorage,
        clock: any Clock<Duration>,
        read: @escaping @Sendable () -> Set<ReplayHold>?,
        notify: @escaping @Sendable (Set<ReplayHold>) -> Void
    ) {
        // Files are read at once.
        let mayWait = !(storage is SQLiteReplayStorage)
        let reader = HoldReader(clock: clock, mayWait: mayWait, read: read, notify: notify)
        self.reader = reader
        // Before the first read, so that no change between the two is missed.
        watch = storage.watch(.holds) { reader.refresh() }
        if !watch.reportsChanges { reader.poll() }
        refresh()
    }

    deinit { reader.close() }

    /// Reads the holds, and reports them if they have changed. Returns after that, or at once if a read may wait.
    func refresh() { reader.refresh() }
}
