/// What is done to a job that somebody names.
package enum ReplayDeed: String, Hashable, Sendable, CaseIterable {
    /// What waits is sent now.
    case retry
    case hold
    case release
    case discard
    /// What is dead or in review is sent again, its attempts counted anew.
    case redrive
}
