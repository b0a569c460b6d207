import DiamondSQLite

/// The callbacks of a connection that is over: first those with its result, then its completion block, then the
/// followers that wait for all of them.
struct ConnectionCallbacks {
    typealias Follower = @Sendable (ConnectionLife.Outcome) -> Void

    /// A callback that is called with the result.
    struct Callback: Sendable {
        /// The executor of the callback; `nil` for the engine's.
        let executor: CallbackExecutor?
        let call: Follower
    }

    /// The user's completion block. Foundation does not get it: on Linux it keeps the block, and what the block
    /// captures, forever, and does not tell when it has returned.
    private(set) var completionBlock: (@Sendable () -> Void)?
    private var callbacks: [Callback] = []
    private var followers: [Follower] = []
    /// Callbacks and blocks that have been handed over, and have not returned.
    private var running = 0
    /// Whether a thread is handing callbacks over. One thread at a time does, and callbacks that come meanwhile are
    /// left to it, because otherwise they could be handed over first.
    private var isHandingOver = false
    /// Whether the thread that hands over is to finish the connection.
    private var isEndLeft = false
    /// Whether no other callback will be handed over, unless the connection is run after all.
    private var isClosed = false
    /// Whether all have returned.
    private(set) var isOver = false

    // MARK: Callbacks

    mutating func add(_ callback: Callback) { callbacks.append(callback) }

    /// The result is known.
    ///
    /// - Returns: those to be handed over now; ``takeNext()`` follows where there are some.
    mutating func take() -> [Callback] { isHandingOver ? [] : takeNext() }

    /// - Returns: the callbacks that have come meanwhile; if there are none, the handing over has ended.
    mutating func takeNext() -> [Callback] {
        isHandingOver = !callbacks.isEmpty
        running += callbacks.count
        defer { callbacks = [] }
        return callbacks
    }

    /// The connection is at its end, but not over before they are with their executors.
    ///
    /// - Returns: whether the end is left to another thread that hands callbacks over; ``takeEnd()`` tells that thread.
    mutating func leaveEnd() -> Bool {
        isEndLeft = isHandingOver
        return isEndLeft
    }

    /// - Returns: whether the end was left to the calling thread, which has handed all over.
    mutating func takeEnd() -> Bool {
        guard isEndLeft, !isHandingOver else { return false }
        isEndLeft = false
        return true
    }

    /// - Returns: the callbacks that will not be called, without those that are about to be handed over. Let go of them
    ///   outside of the lock.
    mutating func drop() -> [Callback] {
        guard !isHandingOver else { return [] }
        defer { callbacks = [] }
        return callbacks
    }

    /// Whether there is neither a callback nor a follower.
    var isEmpty: Bool { callbacks.isEmpty && followers.isEmpty }

    /// Hands over the callbacks of a connection that is freed before it was run, and tells the followers when all have
    /// returned.
    ///
    /// - Parameter executor: for those that name none.
    func callOff(on executor: CallbackExecutor) {
        let (rest, outcome) = (Guarded(self), ConnectionLife.Outcome.failure(.cancelled))
        for callback in rest.withLock({ $0.take() }) {
            (callback.executor ?? executor).call {
                callback.call(outcome)
                for follower in rest.withLock({ $0.hasReturned() }) { follower(outcome) }
            }
        }
        for follower in rest.withLock({ $0.close() }) { follower(outcome) }
    }

    // MARK: The completion block

    /// - Returns: what was in its place; let go of it outside of the lock.
    mutating func replace(_ block: (@Sendable () -> Void)?) -> (@Sendable () -> Void)? {
        defer { completionBlock = block }
        return completionBlock
    }

    /// - Returns: the block to be handed over now, because the connection has finished.
    mutating func takeBlock() -> (@Sendable () -> Void)? {
        if completionBlock != nil { running += 1 }
        return replace(nil)
    }

    // MARK: Followers

    mutating func add(_ follower: @escaping Follower) { followers.append(follower) }

    /// Notes that a callback or the completion block has returned.
    ///
    /// - Returns: the followers to be called now.
    mutating func hasReturned() -> [Follower] {
        running -= 1
        return end()
    }

    /// - Returns: the followers to be called now.
    mutating func close() -> [Follower] {
        isClosed = true
        return end()
    }

    private mutating func end() -> [Follower] {
        guard isClosed, running == 0, callbacks.isEmpty else { return [] }
        isOver = true
        defer { followers = [] }
        return followers
    }
}
