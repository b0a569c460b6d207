/// The rules for queueing a request that cannot be sent now, and for sending it later.
///
/// ```swift
/// request.replay = .onFailure
/// request.replay = ReplayPolicy(.durable, orderingKey: "cart-7", order: .strict)
/// ```
///
/// A stored request survives the end of the program and the loss of power. It is sent at least once. At servers that
/// honor `Idempotency-Key` it acts once (draft-ietf-httpapi-idempotency-key-header). See <doc:Replaying>.
///
/// Durations are in whole milliseconds, from 0 to a hundred years.
public struct ReplayPolicy: Hashable, Sendable {
    /// The time at which a request is added to the queue.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// Never. The caller receives the failure.
        case never
        /// After its last attempt has failed, if a later attempt may succeed. If jobs with its ordering key or its
        /// unique name are open, the request is added at once, because it would overtake them.
        case onFailure
        /// Before its first attempt. If the program ends during the attempt, nothing is lost.
        case durable
    }

    /// The effect of a job that cannot be sent on the later jobs of its ordering key.
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// The later jobs wait while it is ready, waiting, running or held. They are sent before it when it is dead or
        /// in review.
        case ordered
        /// The later jobs wait until it is done or discarded.
        case strict
    }

    /// The action for a new job if a job with the same ``unique`` name waits already. If that job is being sent, every
    /// action except `keep` adds the new job after it.
    public enum Uniqueness: String, Hashable, Sendable, CaseIterable {
        /// The waiting job stays, and the new one is not added.
        case keep
        /// The new request and its time replace those of the waiting job: frequent changes are sent once, later.
        case replace
        /// The new request replaces that of the waiting job, whose time stays: frequent changes are sent at intervals.
        case preserveSchedule
        /// Merges both jobs into one:
        ///
        /// | waiting | new | result |
        /// |---|---|---|
        /// | POST | PUT, PATCH | the POST, with the changes of the new request |
        /// | PUT | PUT | the new request |
        /// | PUT | PATCH | the PUT, with the changes of the new request |
        /// | PATCH | PUT | the new request |
        /// | PATCH | PATCH | the new request, with the other changes of the waiting one |
        /// | PUT, PATCH, DELETE | DELETE | the DELETE |
        /// | POST | DELETE | nothing |
        ///
        /// Other combinations throw ``ReplayError/Code-swift.struct/cannotMerge``. If both bodies are JSON objects,
        /// they are merged (RFC 7396); otherwise the new body replaces the old one. A POST or PUT into which another
        /// request is merged keeps its own metadata.
        case merge
    }

    /// The time at which the request is added to the queue.
    public var mode: Mode
    /// The key whose jobs are sent one after the other, in the order in which they were added. Default: `nil`, for no
    /// order.
    public var orderingKey: String?
    /// The effect on the later jobs of the key if the job cannot be sent. Default: `ordered`.
    public var order: Order
    /// The priority, from -1,000,000 to 1,000,000. Jobs with higher priorities are sent first. Among the jobs of an
    /// ordering key, the priority of the first one applies. Default: 0.
    public var priority = 0 { didSet { priority = priority.clamped(to: Self.allowedPriorities) } }
    /// The maximum number of attempts that count, from 1 to 1,000. Attempts while the network is unreachable do not
    /// count. Default: 20.
    public var attempts = 20 { didSet { attempts = attempts.clamped(to: Self.allowedAttempts) } }
    /// The time in which the job may be sent, from the time it was added; `nil` for no limit. Default: 7 days.
    public var expiry: Duration? { didSet { expiry = expiry?.bounded } }
    /// The time for which the server remembers an `Idempotency-Key`. Default: 24 hours, the minimum at Stripe. `nil` is
    /// for a server that honors none. Then no key is sent, and a POST or PATCH that may have been processed goes to
    /// review instead of being sent again.
    public var keyLifetime: Duration? { didSet { keyLifetime = keyLifetime?.bounded } }
    /// The name that only one waiting job of an identity may have, such as `"profile"`. Default: `nil`, for none.
    public var unique: String?
    /// The action if a job with the ``unique`` name waits already. Default: `keep`.
    public var uniqueness: Uniqueness
    /// The ``Endpoint/kind`` of the typed call that the request was made from, set when an endpoint is sent. The
    /// handlers for this kind receive the response.
    public package(set) var kind: String?
    /// The JSON of the typed call that the job stores (``storing(_:)``); `nil` for none.
    package internal(set) var call: String?
    /// Whether the response to the job, or its failure, is stored with it until it is consumed.
    package var storesAnswer = false
    /// The local ids in the request. The job is held until the ids of these objects are known, which replace them.
    package var awaits: Set<String> = []
    /// The object that the request creates; `nil` for none.
    package var creates: ReplayCreation?
    /// Whether the queue needs the answer: to store it, or to find an id in it.
    var needsAnswer: Bool { storesAnswer || creates != nil }
    /// The paths of members whose objects replace those of a waiting request instead of being merged into them
    /// (``Uniqueness/merge``). They are not stored.
    package var wholeMembers: [[String]] = []
    /// The app's own data, stored with the job.
    public var metadata: [String: JSONValue]

    /// Creates a policy. Each argument has the default of its property. ``priority`` and ``attempts`` are set
    /// afterwards.
    public init(
        _ mode: Mode,
        orderingKey: String? = nil,
        order: Order = .ordered,
        expiry: Duration? = .seconds(7 * 86_400),
        keyLifetime: Duration? = .seconds(86_400),
        unique: String? = nil,
        uniqueness: Uniqueness = .keep,
        metadata: [String: JSONValue] = [:]
    ) {
        self.mode = mode
        self.orderingKey = orderingKey
        self.order = order
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
            && one.call.isExactly(other.call) && one.storesAnswer == other.storesAnswer
            && one.awaits == other.awaits && one.creates == other.creates && one.wholeMembers == other.wholeMembers
            && one.metadata.isExactly(other.metadata)
    }

    /// The policy that never adds the request to the queue. It is a request's default.
    public static let never = ReplayPolicy(.never)
    /// The policy that adds the request to the queue when its last attempt has failed.
    public static let onFailure = ReplayPolicy(.onFailure)
    /// The policy that adds the request to the queue before its first attempt.
    public static let durable = ReplayPolicy(.durable)

    static let allowedAttempts = 1...1000
    static let allowedPriorities = -1_000_000...1_000_000
}
