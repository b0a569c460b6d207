/// All counts of the activity, taken at one moment.
public struct ActivitySnapshot: Hashable, Sendable {
    /// The counts in all.
    public let counts: ActivityCounts
    /// The counts by lane. Lanes without open intervals have no entry.
    public let lanes: [Lane: ActivityCounts]
    /// The counts by origin: scheme, host and port.
    public let origins: [String: ActivityCounts]
    /// The counts by tag. An interval with several tags counts for each, one without tags for none.
    public let tags: [String: ActivityCounts]
}
