/// The rules for keeping a request on disk that cannot be sent now, and for sending it later: whether, and in which
/// order.
///
/// ```swift
/// request.replay = .onFailure
/// request.replay = ReplayPolicy(.durable, orderingKey: "cart-7", order: .strict)
/// ```
///
/// A kept request survives the end of the program and the loss of power. It is sent at least once. At servers that
/// honor `Idempotency-Key` it acts once (draft-ietf-httpapi-idempotency-key-header). See <doc:Replaying>.
///
/// Durations are kept in whole milliseconds, from none to a hundred years.
public struct ReplayPolicy: Hashable, Sendable {
    /// The times at which a request is kept.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// Never; the failure is the caller's.
        case never
        /// After its last attempt has failed, if a later one may not. If jobs of its ordering key, or of its unique
        /// name, are open, the request is kept at once: sent now, it would overtake them.
        case onFailure
        /// Before its first attempt: the end of the program during the attempt loses nothing.
        case durable
    }

    /// The effect of a job that cannot be sent on the later jobs of its ordering key.
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// The later jobs wait while it is ready, waiting, running or held, and pass it when it is dead or in review.
        case ordered
        /// The later jobs wait until it is done or discarded.
        case strict
    }

    /// The action for a new job if a job with the same ``unique`` name waits already.
    public enum Uniqueness: String, Hashable, Sendable, CaseIterable {
        /// The waiting job stays, and the new one is not added.
        case keep
        /// The waiting job takes the new request and the new time: frequent changes are sent once, later.
        case replace
        /// The waiting job takes the new request, and keeps its time: frequent changes are sent once in a while.
        case preserveSchedule
        /// As `replace`, by the name under which other queues have it: behind one that is being sent another is added, as
        /// under each of these but `keep`.
        case appendAfterRunning
        /// Both jobs become one:
        ///
        /// | before | new | becomes |
        /// |---|---|---|
        /// | POST | PUT, PATCH | the POST, with what the new one changes |
        /// | PUT | PUT | the new one |
        /// | PUT | PATCH | the PUT, with what the new one changes |
        /// | PATCH | PUT | the new one |
        /// | PATCH | PATCH | the new one, with what it leaves alone |
        /// | PUT, PATCH, DELETE | DELETE | the DELETE |
        /// | POST | DELETE | nothing |
        ///
        /// All else is refused: ``ReplayError/Code-swift.struct/cannotMerge``. If both bodies are JSON objects, they
        /// are merged (RFC 7396); otherwise the new one counts. A POST or PUT that another is merged into keeps its own
        /// metadata.
        case merge
    }

    /// The time at which the request is kept.
    public var mode: Mode
    /// The key whose jobs are sent one after the other, in the order in which they were added; `nil`, the default, for
    /// no order.
    public var orderingKey: String?
    /// The effect on the later jobs of the key if the job cannot be sent; `ordered`.
    public var order: Order
    /// The priority; 0. Higher ones are sent first. For an ordering key, the first job's counts. From -1,000,000 to
    /// 1,000,000.
    public var priority: Int { didSet { priority = priority.clamped(to: Self.allowedPriorities) } }
    /// The largest number of attempts that count; 20. While the network is away, none counts. From 1 to 1,000.
    public var attempts: Int { didSet { attempts = attempts.clamped(to: Self.allowedAttempts) } }
    /// The time after it was added in which the job may still be sent; 7 days. `nil` is forever.
    public var expiry: Duration? { didSet { expiry = expiry?.bounded } }
    /// The time for which the server remembers an `Idempotency-Key`; 24 hours, as Stripe's does at least. `nil` is for
    /// a server that honors none. Then no key is sent, and a POST or PATCH that may have arrived goes to review instead
    /// of being sent again.
    public var keyLifetime: Duration? { didSet { keyLifetime = keyLifetime?.bounded } }
    /// The app's name for a purpose that only one job of an identity may have at a time, such as `"profile"`; `nil`,
    /// the default, for none.
    public var unique: String?
    /// The action if a job of the ``unique`` name waits already; `keep`.
    public var uniqueness: Uniqueness
    /// The ``Endpoint/kind`` of the call that the request was made of, set when an endpoint is sent. The answer is
    /// handed to the code that has asked for calls of this kind.
    public package(set) var kind: String?
    /// Whether the answer to the job, or its failure, is kept with it until it is taken.
    package var keepsAnswer = false
    /// Whether the URL needs an id that an earlier job of the ordering key brings. Such a job is held until the id is
    /// there.
    package var awaitsID = false
    /// The app's own data, to find again with the job.
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

    /// Names and keys compare by their bytes.
    public static func == (one: ReplayPolicy, other: ReplayPolicy) -> Bool {
        one.mode == other.mode && one.orderingKey.isExactly(other.orderingKey) && one.order == other.order
            && one.priority == other.priority && one.attempts == other.attempts && one.expiry == other.expiry
            && one.keyLifetime == other.keyLifetime && one.unique.isExactly(other.unique)
            && one.uniqueness == other.uniqueness && one.kind.isExactly(other.kind)
            && one.keepsAnswer == other.keepsAnswer && one.awaitsID == other.awaitsID
            && one.metadata.isExactly(other.metadata)
    }

    /// The default of a request.
    public static let never = ReplayPolicy(.never)
    /// The policy that keeps the request when its last attempt has failed.
    public static let onFailure = ReplayPolicy(.onFailure)
    /// The policy that keeps the request before its first attempt.
    public static let durable = ReplayPolicy(.durable)

    /// The default of ``expiry``: 7 days.
    public static let defaultExpiry = Duration.seconds(7 * 86_400)
    /// The default of ``keyLifetime``: 24 hours.
    public static let defaultKeyLifetime = Duration.seconds(86_400)

    static let allowedAttempts = 1...1000
    static let allowedPriorities = -1_000_000...1_000_000
}
