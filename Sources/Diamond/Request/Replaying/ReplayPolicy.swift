/// Whether a request that cannot be sent now is kept on disk and sent later, and in which order.
///
/// ```swift
/// request.replay = .onFailure
/// request.replay = ReplayPolicy(.durable, orderingKey: "cart-7", order: .strict)
/// ```
///
/// What is kept survives the end of the program and the loss of power. It is sent at least once; at servers that honor
/// `Idempotency-Key` it acts once (draft-ietf-httpapi-idempotency-key-header). See <doc:Replaying>.
///
/// Durations are kept in whole milliseconds, from none to a hundred years.
public struct ReplayPolicy: Hashable, Sendable {
    /// When a request is kept.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// It is not; the failure is the caller's.
        case never
        /// When its last attempt has failed, and a later one may not. Where jobs of its ordering key, or one of its unique
        /// name, are open, it is kept at once: sent now, it would go before them.
        case onFailure
        /// Before its first attempt: the end of the program in the middle of it loses nothing.
        case durable
    }

    /// What a job of an ordering key that cannot be sent means for those behind it.
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// They wait while it is ready, waiting, running or held, and pass it when it is dead or in review.
        case ordered
        /// They wait until it is done or discarded.
        case strict
    }

    /// What is done where a job with the same ``unique`` name waits already.
    public enum Uniqueness: String, Hashable, Sendable, CaseIterable {
        /// It stays, and the new one is not added.
        case keep
        /// It takes the new request and the new time: what is changed often is sent once, later.
        case replace
        /// It takes the new request, and keeps its time: what is changed often is sent once in a while.
        case preserveSchedule
        /// As `replace`, by the name under which other queues have it: behind one that is being sent another is added, as
        /// under each of these but `keep`.
        case appendAfterRunning
        /// Both become one:
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
        /// All else is refused: ``ReplayError/Code-swift.struct/cannotMerge``. Bodies are merged where both are JSON objects
        /// (RFC 7396); else the new one's counts. A POST or PUT that takes another in keeps its own metadata.
        case merge
    }

    /// When it is kept.
    public var mode: Mode
    /// Jobs of one key are sent one after the other, in the order in which they were added; `nil`, the default, for no
    /// order.
    public var orderingKey: String?
    /// What it means for those behind it when it cannot be sent; `ordered`.
    public var order: Order
    /// Higher ones are sent first; 0. Of an ordering key, the first job's counts. From -1,000,000 to 1,000,000.
    public var priority: Int { didSet { priority = priority.clamped(to: Self.allowedPriorities) } }
    /// Attempts that count, at most; 20. Where the network is away, none does. From 1 to 1,000.
    public var attempts: Int { didSet { attempts = attempts.clamped(to: Self.allowedAttempts) } }
    /// How long after it was added the job may still be sent; 7 days. `nil` forever.
    public var expiry: Duration? { didSet { expiry = expiry?.bounded } }
    /// How long the server remembers an `Idempotency-Key`; 24 hours, as Stripe's does at least. `nil` for a server that
    /// honors none: then none is sent, and a POST or PATCH that may have arrived goes to review instead of being sent again.
    public var keyLifetime: Duration? { didSet { keyLifetime = keyLifetime?.bounded } }
    /// The app's name for what only one job at a time is to be for, such as `"profile"`; of one identity. `nil`, the
    /// default, for none.
    public var unique: String?
    /// What is done where one of its ``unique`` name waits; `keep`.
    public var uniqueness: Uniqueness
    /// The ``Endpoint/kind`` of the call that the request was made of; set where one is sent. What is answered is handed to
    /// whoever has asked for calls of this kind.
    public package(set) var kind: String?
    /// Whether the answer to the job, or its failure, is kept with it until it is taken.
    package var keepsAnswer = false
    /// Whether the URL needs an id that an earlier job of the ordering key brings. Such a job is held until it is there.
    package var awaitsID = false
    /// What the app wants to find again with the job.
    public var metadata: [String: JSONValue]

    /// Each as its property says.
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
    /// Kept when its last attempt has failed.
    public static let onFailure = ReplayPolicy(.onFailure)
    /// Kept before its first attempt.
    public static let durable = ReplayPolicy(.durable)

    /// 7 days.
    public static let defaultExpiry = Duration.seconds(7 * 86_400)
    /// 24 hours.
    public static let defaultKeyLifetime = Duration.seconds(86_400)

    static let allowedAttempts = 1...1000
    static let allowedPriorities = -1_000_000...1_000_000
}
