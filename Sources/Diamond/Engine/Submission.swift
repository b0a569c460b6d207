/// The outcome of a request that may be queued: it was sent, or it is a job of the queue.
public enum Submission<Value: Sendable>: Sendable {
    /// The request was sent. The value is its ``Response``, or the output of a typed call.
    case sent(Value)
    /// The request is in the queue, and a replayer sends it later (``Engine/replayer(width:identities:)``).
    case queued(ReplayJob)
}

extension Submission: Equatable where Value: Equatable {}
extension Submission: Hashable where Value: Hashable {}
