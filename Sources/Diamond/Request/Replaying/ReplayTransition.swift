public import Foundation

/// A step of a job from one state to another.
public struct ReplayTransition: Hashable, Sendable {
    /// What was done to the job.
    public enum Verb: String, Hashable, Sendable, CaseIterable {
        case enqueue, claim, finish, fail, retry, hold, release, discard, redrive, edit
        /// Its owner has died.
        case rescue
        /// Its time was over (``ReplayPolicy/expiry``).
        case expire
        /// It ended long ago, and its row has gone.
        case forget
    }

    /// The job's ``ReplayJob/id``.
    public var jobID: Int64
    /// What was done.
    public var verb: Verb
    /// `nil` of a new job.
    public var from: ReplayState?
    /// `nil` of one that has gone.
    public var to: ReplayState?
    /// Why it is in its new state.
    public var reason: ReplayReason
    /// When, by the wall clock.
    public var at: Date
}

extension ReplayTransition: CustomStringConvertible {
    /// One line, such as `job 7: fail, running to waiting (backoff)`.
    public var description: String {
        "job \(jobID): \(verb), \(from.map(\.description) ?? "new") to \(to.map(\.description) ?? "gone") (\(reason))"
    }
}
