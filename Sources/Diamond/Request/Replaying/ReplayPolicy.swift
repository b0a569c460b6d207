/// The policy for storing a request that cannot be sent now, and for sending it later.
///
/// ```swift
/// request.replay = .onFailure
/// request.replay = ReplayPolicy(.durable, orderingKey: "cart-7", order: .strict)
/// ```
///
/// A queued request survives the end of the process and a power failure. It is sent at least once. With servers that
/// honor `Idempotency-Key` it acts once (draft-ietf-httpapi-idempotency-key-header). See <doc:Replaying>.
///
/// Durations are rounded to whole milliseconds and limited to 0 to 100 years.
public struct ReplayPolicy: Hashable, Sendable {
    /// The conditions for queueing a request.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// Never: the caller gets the error.
        case never
        /// After the last attempt failed with an error that may be temporary. If jobs with its ordering key or unique
        /// name are open, the request is queued at once, because sending it now would overtake them.
        case onFailure
        /// Before the first attempt, so that the end of the process during the attempt loses nothing.
        case durable
    }

    /// The effect of an unsent job on the later jobs of its ordering key.
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// Later jobs wait while the job is ready, waiting, running or held. They overtake it if it is dead or needs
        /// review.
        case ordered
        /// Later jobs wait until the job is done or discarded.
        case strict
    }

    /// The action for a new job if a job with the same ``unique`` name is already waiting.
    public enum Uniqueness: String, Hashable, Sendable, CaseIterable {
        /// The waiting job stays, and the new one is not added.
        case keep
        /// The waiting job gets the new request and the new time: of frequent changes, the last is sent once they stop.
        case replace
        /// The waiting job gets the new request and keeps its time: of frequent changes, the last is sent at intervals.
        case preserveSchedule
        /// The same as `replace`, under the name that other queues use. If the existing job is being sent, a new job is
        /// added after it, as with every case except `keep`.
        case appendAfterRunning
        /// Both jobs are merged:
        ///
        /// | waiting | new | result |
        /// |---|---|---|
        /// | POST | PUT, PATCH | the POST with the changes of the new job |
        /// | PUT | PUT | the new job |
        /// | PUT | PATCH | the PUT with the changes of the new job |
        /// | PATCH | PUT | the new job |
        /// | PATCH | PATCH | the new job with the other changes of the old one |
        /// | PUT, PATCH, DELETE | DELETE | the DELETE |
        /// | POST | DELETE | nothing |
        ///
        /// Other combinations fail with ``ReplayError/Code-swift.struct/cannotMerge``. If both bodies are JSON objects,
        /// they are merged (RFC 7396); otherwise the new body counts. A POST or PUT that absorbs another job keeps its
        /// own metadata.
        case merge
    }

    /// The condition for queueing the request.
    public var mode: Mode
    /// The ordering key. Its jobs are sent one after the other, in the order in which they were added. `nil`, the
    /// default, sets no order.
    public var orderingKey: String?
    /// The effect on later jobs of the ordering key if the job cannot be sent; `ordered`.
    public var order: Order
    /// The priority; 0. Higher priorities are sent first. For an ordering key, the priority of its first job counts.
    /// From -1,000,000 to 1,000,000.
    public var priority: Int { didSet { priority = priority.clamped(to: Self.allowedPriorities) } }
    /// The maximum number of attempts; 20. Attempts while the network is unavailable do not count. From 1 to 1,000.
    public var attempts: Int { didSet { attempts = attempts.clamped(to: Self.allowedAttempts) } }
    /// The time after its addition until which the job may be sent; 7 days. `nil` sets no limit.
    public var expiry: Duration? { didSet { expiry = expiry?.bounded } }
    /// The time for which the server remembers an `Idempotency-Key`; 24 hours, the minimum of Stripe's servers. `nil`
    /// is for a server that does not support keys. Then no key is sent, and a POST or PATCH that may have been
    /// processed needs review instead of being sent again.
    public var keyLifetime: Duration? { didSet { keyLifetime = keyLifetime?.bounded } }
    /// A name that only one waiting job of an identity may have, such as `"profile"`; `nil`, the default, for none.
    public var unique: String?
    /// The action if a job with the ``unique`` name is already waiting; `keep`.
    public var uniqueness: Uniqueness
    /// The ``Endpoint/kind`` of the call that created the request, set when an endpoint is sent. The response is
    /// delivered to the handlers of this kind.
    public package(set) var kind: String?
    /// Whether the response to the job, or its error, is stored with the job until it is read.
    package var keepsAnswer = false
    /// Whether the URL needs an id that an earlier job of the ordering key will bring. Such a job is held until the id
    /// is known.
    package var awaitsID = false
    /// The app's own data, stored with the job.
    public var metadata: [String: JSONValue]

    /// Creates a policy. Each argument has the default of its property.
    public init(
        _ mode: Mode,
        orderingKey: String? = nil,
        order: Order = .ordered,
        priority: Int = 0,
        attempts: Int = 20,
        expiry: Duration? = defaultExpiry,
        keyLifetime: Duration? = defaultKeyLifetime,
        unique: String? = nil,
        uniqueness: Uniqueness = .keep,
        metadata: [String: JSONValue] = [:]
    ) {
        self.mode = mode
        self.orderingKey = orderingKey
        self.order = order
        self.priority = priority.clamped(to: Self.allowedPriorities)
        self.attempts = attempts.clamped(to: Self.allowedAttempts)
        self.expiry = expiry?.bounded
        self.keyLifetime = keyLifetime?.bounded
        self.unique = unique
        self.uniqueness = uniqueness
        self.metadata = metadata
    }

    /// Compares names and keys by their bytes.
    public static func == (one: ReplayPolicy, other: ReplayPolicy) -> Bool {
        one.mode == other.mode && one.orderingKey.isExactly(other.orderingKey) && one.order == other.order
            && one.priority == other.priority && one.attempts == other.attempts && one.expiry == other.expiry
            && one.keyLifetime == other.keyLifetime && one.unique.isExactly(other.unique)
            && one.uniqueness == other.uniqueness && one.kind.isExactly(other.kind)
            && one.storesAnswer == other.storesAnswer && one.awaitsID == other.awaitsID
            && one.metadata.isExactly(other.metadata)
    }

    /// The policy that never adds the request to the queue. It is a request's default.
    public static let never = ReplayPolicy(.never)
    /// The policy that queues the request after its last attempt failed.
    public static let onFailure = ReplayPolicy(.onFailure)
    /// The policy that queues the request before its first attempt.
    public static let durable = ReplayPolicy(.durable)

    /// The default of ``expiry``: 7 days.
    public static let defaultExpiry = Duration.seconds(7 * 86_400)
    /// The default of ``keyLifetime``: 24 hours.
    public static let defaultKeyLifetime = Duration.seconds(86_400)

    static let allowedAttempts = 1...1000
    static let allowedPriorities = -1_000_000...1_000_000
}
