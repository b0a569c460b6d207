/// What is going on at one moment: all counts, taken at once.
public struct ActivitySnapshot: Hashable, Sendable {
    /// In all.
    public let counts: ActivityCounts
    /// By lane; where nothing goes on there is no entry.
    public let lanes: [Lane: ActivityCounts]
    /// By origin: scheme, host and port.
    public let origins: [String: ActivityCounts]
    /// By tag. What has several counts for each, what has none for none.
    public let tags: [String: ActivityCounts]

    /// Whether nothing goes on by itself: what is left, if anything, is paused.
    public var isIdle: Bool { counts.isIdle }
}
