import DiamondSQLite

/// What is called when a connection is over: the callbacks with its result, its completion block, then whoever waits for
/// all of them.
struct ConnectionCallbacks {
    typealias Follower = @Sendable (ConnectionLife.Outcome) -> Void

    /// One that is called with the result.
    struct Callback: Sendable {
        /// `nil` for the engine's.
        let executor: CallbackExecutor?
        let call: Follower
    }

    /// The user's; not handed to Foundation, which on Linux keeps it, and what it captures, forever, and tells nobody when
    /// it has returned.
    private(set) var completionBlock: (@Sendable () -> Void)?
    private var callbacks: [Callback] = []
    private var followers: [Follower] = []
    /// Callbacks and blocks that have been handed over, and have not returned.
    private var running = 0
    /// Whether somebody hands callbacks over: by one thread at a time, and what comes meanwhile is left to that one, or it
    /// could be there first.
    private var isHandingOver = false
    /// Whether the one who hands over is to bring the connection to its end.
    private var isEndLeft = false
    /// Whether no other will be handed over before the connection is run after all.
    private var isClosed = false
    /// Whether all have returned.
    private(set) var isOver = false

    // MARK: Callbacks

    mutating func add(_ callback: Callback) { callbacks.append(callback) }

    /// The result is known.
    ///
    /// - Returns: those to be handed over now; ``takeNext()`` follows where there are some.
    mutating func take() -> [Callback] { isHandingOver ? [] : takeNext() }

    /// - Returns: those that have come meanwhile; where there are none, nobody hands over any more.
    mutating func takeNext() -> [Callback] {
        isHandingOver = !callbacks.isEmpty
        running += callbacks.count
        defer { callbacks = [] }
        return callbacks
    }

    /// The connection is at its end, but not over before they are with their executors.
    ///
    /// - Returns: whether it is left to another, who hands them over; ``takeEnd()`` tells that one.
    mutating func leaveEnd() -> Bool {
        isEndLeft = isHandingOver
        return isEndLeft
    }

    /// - Returns: whether the end was left to the one who asks, who has handed all over.
    mutating func takeEnd() -> Bool {
        guard isEndLeft, !isHandingOver else { return false }
        isEndLeft = false
        return true
    }

    /// - Returns: what nobody will call; let go of it outside of the lock. Not what is about to be handed over.
    mutating func drop() -> [Callback] {
        guard !isHandingOver else { return [] }
        defer { callbacks = [] }
        return callbacks
    }

    /// Whether nobody is called, nor told that all have returned.
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

    /// One has returned.
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
