import DiamondSQLite
import Dispatch

/// Has a writer write a moment after the first of several changes, so that these go to disk in one transaction: a program
/// that fetches one answer after another would pay one for each.
///
/// Holds the writer only while something waits, so that a file is closed with the last reference to its cache.
final class WriteDebouncer: Sendable {
    private struct State {
        var writer: CacheWriter?
        /// Whether the timer runs, with a writer or without.
        var isRunning = false
    }

    private let delay: Duration
    private let state = Guarded(State())

    init(after delay: Duration) { self.delay = delay }

    /// Has `writer` write on its queue when the time is over, counted from the first that asked.
    func set(for writer: CacheWriter, on queue: DispatchQueue) {
        let isFirst = state.withLock { state in
            state.writer = writer
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if isFirst { queue.asyncAfter(deadline: .now() + .milliseconds(Int(delay.milliseconds))) { self.fire() } }
    }

    /// Everything is written.
    func clear() { _ = state.withLock { $0.writer.take() } }

    private func fire() {
        let writer = state.withLock { state in
            state.isRunning = false
            return state.writer.take()
        }
        writer?.writeWaiting()
    }
}
