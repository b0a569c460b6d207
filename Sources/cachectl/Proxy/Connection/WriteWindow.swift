#if Tools
import NIOConcurrencyHelpers
import Synchronization

/// The bytes of a connection's responses that have not reached the socket. The tasks that write them wait while there
/// are too many.
///
/// The writer of `NIOAsyncChannel` alone does not bound them: it suspends only after the event loop has noticed that
/// the socket takes no more.
final class WriteWindow: Sendable {
    private struct State {
        var pending = 0
        var isClosed = false
        /// More than one if an interim response is written at the same time.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let budget: WriteBudget
    private let state = NIOLockedValueBox(State())

    init(_ budget: WriteBudget) { self.budget = budget }

    // Bytes that a closing connection has dropped were not removed.
    deinit { budget.add(-state.withLockedValue { $0.pending }) }

    /// Adds bytes to write, and waits until they fit.
    func add(_ count: Int) async {
        await withTaskCancellationHandler {
            while isFull(for: count) { await wait(for: count) }
        } onCancel: {
            close()
        }
        state.withLockedValue { $0.pending += count }
        budget.add(count)
    }

    /// Removes bytes that were written, or will never be.
    func remove(_ count: Int) {
        budget.add(-count)
        resume { $0.pending -= count }
    }

    /// Lets every writer continue, because nothing can be written any more.
    func close() { resume { $0.isClosed = true } }

    private func isFull(for count: Int) -> Bool { state.withLockedValue { isFull($0, for: count) } }

    private func isFull(_ state: State, for count: Int) -> Bool {
        !state.isClosed && !budget.allows(count, above: state.pending)
    }

    private func wait(for count: Int) async {
        await withCheckedContinuation { waiter in
            let isReady = state.withLockedValue { state in
                guard isFull(state, for: count) else { return true }
                state.waiters.append(waiter)
                return false
            }
            if isReady { waiter.resume() }
        }
    }

    private func resume(_ change: (inout State) -> Void) {
        let waiters = state.withLockedValue { state in
            change(&state)
            defer { state.waiters = [] }
            return state.waiters
        }
        // All, because the bytes of the first may not fit yet, and those of another may.
        for waiter in waiters { waiter.resume() }
    }
}

/// The bytes that all connections together have waiting for their clients.
final class WriteBudget: Sendable {
    private static let total = 64 << 20
    /// The maximum number of waiting bytes of a connection.
    private static let window = 1 << 20
    /// The number of waiting bytes that a connection may have even if the total is used up.
    static let minimum = 64 << 10

    private let pending = Atomic(0)

    /// Whether a connection may have more bytes waiting.
    ///
    /// - Parameters:
    ///   - count: the number of bytes to add.
    ///   - own: the number of waiting bytes of the connection.
    func allows(_ count: Int, above own: Int) -> Bool {
        guard own > 0, own + count > Self.minimum else { return true }
        return own + count <= Self.window && pending.load(ordering: .relaxed) + count <= Self.total
    }

    /// The size of the largest body that a connection without waiting bytes may write at once. The more bytes wait for
    /// slow clients, the smaller it is.
    var responseLimit: Int {
        max(Self.minimum, min(Self.window, Self.total - pending.load(ordering: .relaxed)))
    }

    func add(_ count: Int) { pending.add(count, ordering: .relaxed) }
}
#endif
