#if Tools
import NIOConcurrencyHelpers
import Synchronization

/// The bytes of a connection's responses that have not reached the socket. The task that writes them waits while there
/// are too many.
///
/// The writer of `NIOAsyncChannel` alone does not bound them: it suspends only after the event loop has noticed that
/// the socket takes no more.
final class WriteWindow: Sendable {
    private struct State {
        var pending = 0
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let budget: WriteBudget
    private let state = NIOLockedValueBox(State())

    init(_ budget: WriteBudget) { self.budget = budget }

    /// Adds bytes to write, and waits until they fit. One task at a time calls it.
    func add(_ count: Int) async {
        await withTaskCancellationHandler {
            while isFull(for: count) { await wait(for: count) }
        } onCancel: {
            close()
        }
        state.withLockedValue { $0.pending += count }
    }

    /// Removes bytes that were written, or will never be.
    func remove(_ count: Int) { resume { $0.pending -= count } }

    /// Lets every writer continue, because nothing can be written any more.
    func close() { resume { $0.isClosed = true } }

    private func isFull(for count: Int) -> Bool { state.withLockedValue { isFull($0, for: count) } }

    private func isFull(_ state: State, for count: Int) -> Bool {
        !state.isClosed && state.pending > 0 && state.pending + count > budget.window
    }

    private func wait(for count: Int) async {
        await withCheckedContinuation { waiter in
            let isReady = state.withLockedValue { state in
                guard isFull(state, for: count) else { return true }
                state.waiter = waiter
                return false
            }
            if isReady { waiter.resume() }
        }
    }

    private func resume(_ change: (inout State) -> Void) {
        let waiter = state.withLockedValue { state in
            change(&state)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}

/// The bytes that all connections together may have waiting for their clients. The more responses there are, the
/// smaller is the window of each.
final class WriteBudget: Sendable {
    private static let total = 64 << 20
    private static let sizes = 64 << 10...1 << 20

    private let count = Atomic(0)

    /// The maximum number of waiting bytes of a connection.
    var window: Int {
        let share = Self.total / max(1, count.load(ordering: .relaxed))
        return min(max(share, Self.sizes.lowerBound), Self.sizes.upperBound)
    }

    func beginResponse() { count.add(1, ordering: .relaxed) }

    func endResponse() { count.subtract(1, ordering: .relaxed) }
}
#endif
