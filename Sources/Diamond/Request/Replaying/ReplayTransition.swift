public import Foundation

/// A step of a job from one state to another.
public struct ReplayTransition: Hashable, Sendable {
    /// The kind of a transition. Later versions may add kinds.
    public struct Verb: Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind, such as `enqueue`.
        public let description: String

        /// The job was added.
        public static let enqueue = Verb(description: "enqueue")
        /// An owner has claimed the job.
        public static let claim = Verb(description: "claim")
        /// The job is done.
        public static let finish = Verb(description: "finish")
        /// The attempt failed, or the job may not be sent.
        public static let fail = Verb(description: "fail")
        /// The job is ready before, or at, its time.
        public static let retry = Verb(description: "retry")
        /// The job is held.
        public static let hold = Verb(description: "hold")
        /// The job is no longer held.
        public static let release = Verb(description: "release")
        /// The job was ended without being sent.
        public static let discard = Verb(description: "discard")
        /// The job had ended, and is sent again.
        public static let redrive = Verb(description: "redrive")
        /// The job's request was replaced.
        public static let edit = Verb(description: "edit")
        /// The job's owner died.
        public static let rescue = Verb(description: "rescue")
        /// The time in which the job may be sent ended (``ReplayPolicy/expiry``).
        public static let expire = Verb(description: "expire")
        /// The job ended long ago, and its row was deleted.
        public static let forget = Verb(description: "forget")

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

    /// Creates a transition.
    public init(
        jobID: Int64, verb: Verb, from: ReplayState?, to: ReplayState?, reason: ReplayReason, at: Date
    ) {
        self.jobID = jobID
        self.verb = verb
        self.from = from
        self.to = to
        self.reason = reason
        self.at = at
    }
}

extension ReplayTransition: CustomStringConvertible {
    /// A summary in one line, such as `job 7: fail, running to waiting (backoff)`.
    public var description: String {
        "job \(jobID): \(verb), \(from.map(\.description) ?? "new") to \(to.map(\.description) ?? "gone") (\(reason))"
    }
}
