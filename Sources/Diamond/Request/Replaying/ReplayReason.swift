/// The reason why a job is in its state. Later versions may add reasons.
public struct ReplayReason: Hashable, Sendable, CustomStringConvertible {
    /// The name of the reason, such as `backoff`.
    public let description: String

    // Ready or waiting:

    /// The job was added.
    package static let enqueued = ReplayReason(description: "enqueued")
    /// The job was added for a later time.
    public static let delayed = ReplayReason(description: "delayed")
    /// The job's time was reached.
    public static let due = ReplayReason(description: "due")
    /// The last attempt failed.
    public static let backoff = ReplayReason(description: "backoff")
    /// The server set the time with `Retry-After` (RFC 9110 section 10.2.3).
    public static let retryAfter = ReplayReason(description: "retryAfter")
    /// The network is unavailable; the attempt did not count.
    public static let offline = ReplayReason(description: "offline")
    /// The network is available again.
    public static let online = ReplayReason(description: "online")
    /// The owner returned the job unsent.
    public static let returned = ReplayReason(description: "returned")
    /// The owner that sent the job died, or did not renew its lease.
    public static let rescued = ReplayReason(description: "rescued")
    /// The job was retried before its time, or was released.
    public static let retried = ReplayReason(description: "retried")
    /// The job, its key, its identity or its lane was released.
    public static let released = ReplayReason(description: "released")
    /// The job was dead or needed review, and was redriven.
    public static let redriven = ReplayReason(description: "redriven")
    /// A newer job with its unique name replaced it, or was merged into it.
    public static let replaced = ReplayReason(description: "replaced")

    // Running:

    /// A replayer claimed the job.
    public static let claimed = ReplayReason(description: "claimed")

    // Held:

    /// The job itself is held, or all jobs of its key, its identity or its lane.
    public static let held = ReplayReason(description: "held")
    /// The job's URL needs the id of an object that another job creates on the server.
    public static let awaitingID = ReplayReason(description: "awaitingID")
    /// 401: the job's identity has to sign in again.
    public static let unauthorized = ReplayReason(description: "unauthorized")

    // Done:

    /// The server answered with 2xx or 3xx.
    public static let finished = ReplayReason(description: "finished")
    /// A DELETE that may have been processed before was answered with 404 or 410.
    public static let gone = ReplayReason(description: "gone")
    /// The job was discarded.
    public static let discarded = ReplayReason(description: "discarded")

    // Dead:

    /// The server refused the job with a status that a repetition does not change.
    public static let refused = ReplayReason(description: "refused")
    /// The job cannot be sent, for example because its file is missing.
    public static let unsendable = ReplayReason(description: "unsendable")
    /// The job used all its ``ReplayPolicy/attempts``.
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
    /// The job's data on disk was altered. The job is not sent and cannot be redriven. Its bytes remain until it is
    /// discarded.
    public static let damaged = ReplayReason(description: "damaged")
}
