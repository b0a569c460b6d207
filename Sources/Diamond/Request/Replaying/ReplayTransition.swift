public import Foundation

/// A step of a job from one state to another.
public struct ReplayTransition: Hashable, Sendable {
    /// The kind of a transition. Later versions may add kinds.
    public struct Verb: Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind, such as `enqueue`.
        public let description: String

        package static let enqueue = Verb(description: "enqueue")
        package static let claim = Verb(description: "claim")
        package static let finish = Verb(description: "finish")
        package static let fail = Verb(description: "fail")
        package static let retry = Verb(description: "retry")
        package static let hold = Verb(description: "hold")
        package static let release = Verb(description: "release")
        package static let discard = Verb(description: "discard")
        package static let redrive = Verb(description: "redrive")
        package static let edit = Verb(description: "edit")
        /// The job's owner died.
        package static let rescue = Verb(description: "rescue")
        /// The time in which the job may be sent ended (``ReplayPolicy/expiry``).
        package static let expire = Verb(description: "expire")
        /// The job ended long ago, and its row was deleted.
        package static let forget = Verb(description: "forget")

        package static let all = [
            enqueue, claim, finish, fail, retry, hold, release, discard, redrive, edit, rescue, expire, forget,
        ]
    }

    /// The job's ``ReplayJob/id``.
    public let jobID: Int64
    /// The kind of the transition.
    public let verb: Verb
    /// The state before; `nil` for a new job.
    public let from: ReplayState?
    /// The state after; `nil` if the job's row was deleted.
    public let to: ReplayState?
    /// The reason for the new state.
    public let reason: ReplayReason
    /// The time of the transition, by the wall clock.
    public let at: Date
}

extension ReplayTransition: CustomStringConvertible {
    /// A summary in one line, such as `job 7: fail, running to waiting (backoff)`.
    public var description: String {
        "job \(jobID): \(verb), \(from.map(\.description) ?? "new") to \(to.map(\.description) ?? "gone") (\(reason))"
    }
}
