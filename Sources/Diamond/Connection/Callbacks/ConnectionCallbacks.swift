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

    /// The user's; not handed to Foundation, which on Linux keeps it, and what it captures, for ever, and tells nobody when
    /// it has returned.
    private(set) var completionBlock: (@Sendable () -> Void)?
    private var callbacks: [Callback] = []
    private var followers: [Follower] = []
    /// Callbacks and blocks that have been handed over, and have not returned.
    private var running = 0
    /// Whether no other will be handed over before the connection is run after all.
    private var isClosed = false
    /// Whether all have returned.
    private(set) var isOver = false

    // MARK: Callbacks

    /// - Returns: whether it is to be handed over now.
    mutating func add(_ callback: Callback, isDue: Bool) -> Bool {
        if isDue { running += 1 } else { callbacks.append(callback) }
        return isDue
    }

    /// - Returns: those to be handed over now, because the result is known.
    mutating func take() -> [Callback] {
        running += callbacks.count
        defer { callbacks = [] }
        return callbacks
    }

    /// - Returns: what nobody will call; let go of it outside of the lock.
    mutating func drop() -> [Callback] {
        defer { callbacks = [] }
        return callbacks
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
        guard isClosed, running == 0 else { return [] }
        isOver = true
        defer { followers = [] }
        return followers
    }
}
