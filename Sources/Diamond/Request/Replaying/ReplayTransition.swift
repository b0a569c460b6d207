public import Foundation

/// A step of a job from one state to another.
public struct ReplayTransition: Hashable, Sendable {
    /// The kinds of transition.
    public enum Verb: String, Hashable, Sendable, CaseIterable {
        case enqueue, claim, finish, fail, retry, hold, release, discard, redrive, edit
        /// The job's owner has died.
        case rescue
        /// The job's time was over (``ReplayPolicy/expiry``).
        case expire
        /// The job ended long ago, and its row has gone.
        case forget
    }

    /// The job's ``ReplayJob/id``.
    public var jobID: Int64
    /// The kind of transition.
    public var verb: Verb
    /// The state before; `nil` for a new job.
    public var from: ReplayState?
    /// The state after; `nil` for a job whose row has gone.
    public var to: ReplayState?
    /// The reason for the new state.
    public var reason: ReplayReason
    /// The time of the transition, by the wall clock.
    public var at: Date
}

extension ReplayTransition: CustomStringConvertible {
    /// One line, such as `job 7: fail, running to waiting (backoff)`.
    public var description: String {
        "job \(jobID): \(verb), \(from.map(\.description) ?? "new") to \(to.map(\.description) ?? "gone") (\(reason))"
    }
}
