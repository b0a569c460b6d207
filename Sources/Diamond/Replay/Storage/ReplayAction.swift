/// An operator's action on a job.
public enum ReplayAction: String, Hashable, Sendable, CaseIterable {
    /// Sends a waiting job now.
    case retry
    /// Holds a job itself.
    case hold
    /// Releases a job that is itself held.
    case release
    /// Ends a job without sending it.
    case discard
    /// Sends a dead job, or one in review, again, and counts its attempts from zero.
    case redrive
}

/// The effect of an action on a job.
public enum ReplayEffect: Hashable, Sendable {
    /// The job has this state now.
    case done(ReplayState)
    /// There is no such job.
    case noJob
    /// The job's state does not allow the action (`ReplayRow.allows(_:)`).
    case wrongState(ReplayState)
    /// Another job has taken the unique name meanwhile.
    case notUnique
    /// The stored job is damaged.
    case damaged
}

/// A job that was not changed or moved, and the reason.
package struct ReplayRefusal: Hashable, Sendable {
    package let id: ReplayJob.ID
    package let error: ReplayError

    package init(id: ReplayJob.ID, error: ReplayError) {
        self.id = id
        self.error = error
    }
}

/// A damaged part of a queue, or a contradiction in it.
package struct ReplayFinding: Hashable, Sendable {
    /// The damaged job; `nil` if it is not about one job.
    package var id: ReplayJob.ID?
    /// The damage, in a few words.
    package var what: String

    /// Creates a finding.
    package init(id: ReplayJob.ID? = nil, what: String) {
        self.id = id
        self.what = what
    }
}

/// The state of the answer to a job.
public enum ReplayStoredAnswer: Hashable, Sendable {
    /// There is no answer yet.
    case none
    /// The stored answer is not the one that was written.
    case damaged
    /// The answer, and the time at which it was received.
    case answer(ReplayAnswer, receivedAt: QueueTime)
}
