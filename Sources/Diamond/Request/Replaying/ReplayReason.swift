/// Why a job is in its state. New ones may come.
public struct ReplayReason: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    // Ready or waiting:

    /// It was added.
    public static let enqueued = ReplayReason(description: "enqueued")
    /// It was added for a later time.
    public static let delayed = ReplayReason(description: "delayed")
    /// Its time has come.
    public static let due = ReplayReason(description: "due")
    /// The last attempt came to nothing.
    public static let backoff = ReplayReason(description: "backoff")
    /// The server named the time itself (RFC 9110 section 10.2.3).
    public static let retryAfter = ReplayReason(description: "retryAfter")
    /// The network is away; the attempt did not count.
    public static let offline = ReplayReason(description: "offline")
    /// The network is back.
    public static let online = ReplayReason(description: "online")
    /// Whoever had claimed it gave it back unsent.
    public static let returned = ReplayReason(description: "returned")
    /// Whoever sent it has died, or was away for longer than its lease.
    public static let rescued = ReplayReason(description: "rescued")
    /// Somebody wanted it now, or released it.
    public static let retried = ReplayReason(description: "retried")
    /// It, its key, its identity or its lane was released.
    public static let released = ReplayReason(description: "released")
    /// It was dead or in review, and somebody has sent it on its way again.
    public static let redriven = ReplayReason(description: "redriven")
    /// A newer one of its unique name has taken its place, or was merged into it.
    public static let replaced = ReplayReason(description: "replaced")

    // Running:

    /// A replayer has it.
    public static let claimed = ReplayReason(description: "claimed")

    // Held:

    /// By itself, or with all of its key, its identity or its lane.
    public static let held = ReplayReason(description: "held")
    /// Its URL needs the id that the server gives an object, which another job makes.
    public static let awaitingID = ReplayReason(description: "awaitingID")
    /// 401: its identity has to sign in again.
    public static let unauthorized = ReplayReason(description: "unauthorized")

    // Done:

    /// The server answered with 2xx or 3xx.
    public static let finished = ReplayReason(description: "finished")
    /// A DELETE that may have been processed before was answered with 404 or 410.
    public static let gone = ReplayReason(description: "gone")
    /// Somebody gave it up.
    public static let discarded = ReplayReason(description: "discarded")

    // Dead:

    /// The server will have none of it: a status that a repetition does not change.
    public static let refused = ReplayReason(description: "refused")
    /// It cannot be sent as it is, such as without the file that it names.
    public static let unsendable = ReplayReason(description: "unsendable")
    /// It has had as many attempts as ``ReplayPolicy/attempts`` allows.
    public static let attemptsUsed = ReplayReason(description: "attemptsUsed")
    /// It is older than ``ReplayPolicy/expiry`` allows.
    public static let expired = ReplayReason(description: "expired")
    /// Three times in 72 hours, whoever sent it died over it.
    public static let poison = ReplayReason(description: "poison")
    /// What is on disk cannot be read.
    public static let undecodable = ReplayReason(description: "undecodable")

    // Needs review:

    /// It may have been processed, and has no `Idempotency-Key`.
    public static let outcomeUnknown = ReplayReason(description: "outcomeUnknown")
    /// It may have been processed, and the server no longer remembers its `Idempotency-Key`.
    public static let keyExpired = ReplayReason(description: "keyExpired")
    /// What is on disk of it is not what was written: it is not sent, and cannot be redriven. Its bytes are kept until somebody
    /// discards it.
    public static let damaged = ReplayReason(description: "damaged")
}
