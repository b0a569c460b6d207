import DiamondSQLite
import Dispatch

/// Delays writing for a moment after the first of several changes, so that one transaction writes all of them.
///
/// It holds the writer only while a change waits, so that the file is closed with the last reference to its cache.
final class WriteDebouncer: Sendable {
    private struct State {
        var writer: CacheWriter?
        /// Whether the timer runs, even if no writer is set.
        var isRunning = false
    }

    private let delay: Duration
    private let state = Guarded(State())

    init(after delay: Duration) { self.delay = delay }

    /// Makes the writer write on its queue after the delay, counted from the first call.
    func set(for writer: CacheWriter, on queue: DispatchQueue) {
        let isFirst = state.withLock { state in
            state.writer = writer
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if isFirst { queue.asyncAfter(deadline: .now() + .milliseconds(Int(delay.milliseconds))) { self.fire() } }
    }

    /// Cancels the write: all changes are written.
    func clear() { _ = state.withLock { $0.writer.take() } }

    private func fire() {
        let writer = state.withLock { state in
            state.isRunning = false
            return state.writer.take()
        }
        writer?.writeWaiting()
    }
}
