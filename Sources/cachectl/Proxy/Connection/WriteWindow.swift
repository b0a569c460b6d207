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

    /// Adds bytes to write, as many as a piece may have, and waits until they fit.
    ///
    /// - Returns: the number of bytes.
    func add(upTo count: Int) async -> Int {
        let count = min(count, budget.pieceSize)
        await add(count)
        return count
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
///
/// Each connection may have an eighth of the bytes that are left (Choudhury and Hahne, "Dynamic queue length
/// thresholds", 1998). So windows shrink evenly when many clients read slowly, and are large for a few.
final class WriteBudget: Sendable {
    private static let total = 64 << 20
    /// The largest window of a connection. With larger ones, the bytes of some dozen connections no longer fit into the
    /// caches of a processor before they reach the socket.
    private static let largest = 256 << 10
    /// The number of waiting bytes that a connection may have even if the total is used up.
    static let minimum = 64 << 10

    private let pending = Atomic(0)

    /// The maximum number of waiting bytes of a connection, which is also the size of the largest body that one without
    /// waiting bytes may write at once.
    var window: Int { min(Self.largest, max(Self.minimum, (Self.total - pending.load(ordering: .relaxed)) / 8)) }

    /// The number of bytes of a piece: a stored chunk if two fit into the window, so that one is on its way while the
    /// other is read; otherwise half a chunk.
    var pieceSize: Int { window < Self.largest ? Self.minimum : Self.largest / 2 }

    /// Whether a connection may have more bytes waiting.
    ///
    /// - Parameters:
    ///   - count: the number of bytes to add.
    ///   - own: the number of waiting bytes of the connection.
    func allows(_ count: Int, above own: Int) -> Bool {
        own == 0 || own + count <= window
    }

    func add(_ count: Int) { pending.add(count, ordering: .relaxed) }
}
#endif
