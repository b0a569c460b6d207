/// The reason why a job is in its state. Later versions may add reasons.
public struct ReplayReason: Hashable, Sendable, CustomStringConvertible {
    /// The name of the reason, such as `backoff`.
    public let description: String

    /// Creates the reason with a name, as a storage has written it.
    public init(description: String) { self.description = description }

    // Ready or waiting:

    /// The job was added.
    package static let enqueued = ReplayReason(description: "enqueued")
    /// The job was added for a later time.
    package static let delayed = ReplayReason(description: "delayed")
    /// The time at which the job may be sent was reached.
    package static let due = ReplayReason(description: "due")
    /// The last attempt failed.
    package static let backoff = ReplayReason(description: "backoff")
    /// The server set the time of the next attempt with `Retry-After` (RFC 9110 section 10.2.3).
    package static let retryAfter = ReplayReason(description: "retryAfter")
    /// The network is unreachable. The attempt did not count.
    public static let offline = ReplayReason(description: "offline")
    /// The network is reachable again.
    package static let online = ReplayReason(description: "online")
    /// The owner gave the job back unsent.
    package static let returned = ReplayReason(description: "returned")
    /// The owner that sent the job died, or its lease ended.
    package static let rescued = ReplayReason(description: "rescued")
    /// The job was retried by an operator, without waiting for its time.
    package static let retried = ReplayReason(description: "retried")
    /// The job, its key, its identity or its lane was released, or the ids that the request needs are known.
    package static let released = ReplayReason(description: "released")
    /// The job was dead or in review, and was redriven.
    package static let redriven = ReplayReason(description: "redriven")
    /// The job's request was replaced by a newer one with the same unique name, or was merged with it.
    package static let replaced = ReplayReason(description: "replaced")

    // Running:

    /// An owner has claimed the job.
    package static let claimed = ReplayReason(description: "claimed")

    // Held:

    /// The job itself is held, or all jobs of its key, its identity or its lane are.
    package static let held = ReplayReason(description: "held")
    /// The request needs the id of an object that another job creates (``ReplayJob/awaitedJobs``).
    public static let awaitingID = ReplayReason(description: "awaitingID")
    /// The request needs the id of an object, and the job that creates it is dead or was discarded
    /// (``ReplayJob/awaitedJobs``). It waits again when that job is redriven, or the object is saved again.
    public static let creationFailed = ReplayReason(description: "creationFailed")
    /// The server answered with 401: the job's identity has to sign in again.
    public static let unauthorized = ReplayReason(description: "unauthorized")

    // Done:

    /// The server answered with 2xx or 3xx.
    public static let finished = ReplayReason(description: "finished")
    /// A DELETE that may have been processed before was answered with 404 or 410.
    package static let gone = ReplayReason(description: "gone")
    /// The job was discarded.
    public static let discarded = ReplayReason(description: "discarded")

    // Deleted:

    /// The identity of the job has signed out.
    package static let signedOut = ReplayReason(description: "signedOut")

    // Dead, or done if a caller has the answer or error itself, except in strict order:

    /// The server refused the job, with a status that another attempt does not change.
    public static let refused = ReplayReason(description: "refused")
    /// The job cannot be sent as it is. For example, the file with its body is missing.
    package static let unsendable = ReplayReason(description: "unsendable")
    /// The job has had as many attempts as ``ReplayPolicy/attempts`` allows.
    public static let attemptsUsed = ReplayReason(description: "attemptsUsed")
    /// The job is older than ``ReplayPolicy/expiry`` allows.
    public static let expired = ReplayReason(description: "expired")
    /// The owner died while sending the job, three times in 72 hours.
    package static let poison = ReplayReason(description: "poison")
    /// The job's data on disk cannot be read.
    package static let undecodable = ReplayReason(description: "undecodable")

    // Needs review:

    /// The job may have been processed, and has no `Idempotency-Key`.
    public static let outcomeUnknown = ReplayReason(description: "outcomeUnknown")
    /// The job may have been processed, and the server no longer remembers its `Idempotency-Key`.
    public static let keyExpired = ReplayReason(description: "keyExpired")
    /// The job's data on disk is not what was written, or was sealed with a key that the seal does not have. The job is
    /// not sent, and cannot be redriven, except with that key. Its data stays on disk until it is discarded.
    public static let damaged = ReplayReason(description: "damaged")
}
