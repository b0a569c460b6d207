/// An operator's action on a job.
package enum JobAction: String, Hashable, Sendable, CaseIterable {
    /// Sends a waiting job now.
    case retry
    case hold
    case release
    case discard
    /// Sends a dead job, or one in review, again, and counts its attempts from zero.
    case redrive
}
