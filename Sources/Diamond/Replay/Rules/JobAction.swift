/// An operator's action on a job.
package enum JobAction: String, Hashable, Sendable, CaseIterable {
    /// Sends a waiting job now.
    case retry, hold, release, discard
    /// Sends a dead job, or one in review, again, and counts its attempts from zero.
    case redrive
}
