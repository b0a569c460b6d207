/// What is called when a connection is over: its completion block, then whoever waits for that.
struct ConnectionCallbacks {
    typealias Follower = @Sendable (ConnectionLife.Outcome) -> Void

    /// The user's; not handed to Foundation, which on Linux keeps it, and what it captures, for ever, and tells nobody when
    /// it has returned.
    private(set) var completionBlock: (@Sendable () -> Void)?
    private var followers: [Follower] = []
    /// Whether the completion block has returned, or will not be called before the connection is run after all.
    private(set) var isOver = false

    /// - Returns: what was in its place; let go of it outside of the lock.
    mutating func replace(_ block: (@Sendable () -> Void)?) -> (@Sendable () -> Void)? {
        defer { completionBlock = block }
        return completionBlock
    }

    mutating func add(_ follower: @escaping Follower) { followers.append(follower) }

    /// - Returns: those to be called now.
    mutating func end() -> [Follower] {
        isOver = true
        defer { followers = [] }
        return followers
    }
}
