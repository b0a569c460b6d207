public import Foundation

/// A stored request to be sent later, with its state.
public struct ReplayJob: Hashable, Sendable, Identifiable {
    /// The job's number. Ids increase in the order in which jobs are added; none is used twice.
    public internal(set) var id: Int64
    /// The job's state.
    public let state: ReplayState
    /// The reason for the state.
    public let reason: ReplayReason
    /// The request's method.
    public let method: String
    /// The request's URL for display, without user info and with secrets masked.
    public let url: String
    /// The URL's host, with its port if the URL names one.
    package let host: String
    /// The identity on whose behalf the request is sent; `nil` for none.
    public let identity: String?
    /// The key whose jobs are sent in order; `nil` for none.
    public let orderingKey: String?
    /// The effect on later jobs of the same ordering key if this job cannot be sent.
    package let order: ReplayPolicy.Order
    /// Whether no earlier job of the same ordering key has to be sent first.
    package let isHead: Bool
    /// Whether the job itself is held, and not only its ordering key, identity or lane.
    package let isHeld: Bool
    /// The job's priority. Jobs with higher priorities are sent first.
    package let priority: Int
    /// The name of the request's lane.
    package let lane: String
    /// The request's tags, sorted.
    public let tags: [String]
    /// The app's own data.
    public let metadata: [String: JSONValue]
    /// The name of the typed call; `nil` if the request is not a typed call.
    public let kind: String?
    /// The time at which the job was added.
    public let enqueuedAt: Date
    /// The time of the last transition.
    package let changedAt: Date
    /// The time of the last transition by the queue's clock. Unlike ``changedAt``, it stays the same when the wall clock
    /// is set.
    package let transitionTime: QueueTime
    /// The earliest time at which the job is sent.
    public let runAt: Date
    /// The time after which the job is not sent; `nil` for no limit.
    public let expiresAt: Date?
    /// The number of attempts that count towards ``attemptLimit``. An attempt while the network is unreachable, for
    /// example, does not count.
    public let attempts: Int
    /// The number of ``attempts`` after which the job is dead.
    public let attemptLimit: Int
    /// The start of the current attempt; `nil` if none runs. If several attempts may have been processed, it is the
    /// start of the first.
    package let sentAt: Date?
    /// The start of the first attempt that may have been processed with an unknown outcome; `nil` for none.
    package let unknownSince: Date?
    /// The idempotency key sent with every attempt; `nil` for none.
    package let idempotencyKey: String?
    /// The status of the last response; `nil` for none.
    public let status: Int?
    /// The number of claims and rescues.
    package let token: Int64
    /// The JSON of the typed call; `nil` if it is not stored.
    package let storedCall: String?
    /// The jobs that create the objects whose ids the request needs, while it waits for them
    /// (``ReplayReason/awaitingID``, ``ReplayReason/creationFailed``).
    public let awaitedJobs: [ID]
}

extension ReplayJob {
    /// Creates a job from its stored parts.
    ///
    /// - Parameters:
    ///   - row: the job's row.
    ///   - details: the job's opened details.
    ///   - priority: the policy's priority.
    ///   - enqueuedAt: the time at which the job was added.
    ///   - changedAt: the time of its last transition.
    ///   - awaitedJobs: the jobs that create the objects whose ids it waits for.
    ///   - moment: converts the times to the wall clock.
    public init(
        _ row: ReplayRow, _ details: ReplayDetails, priority: Int, enqueuedAt: QueueTime, changedAt: QueueTime,
        awaitedJobs: [ID] = [], at moment: ReplayMoment
    ) {
        id = row.id
        state = row.state
        reason = row.reason
        method = row.method
        url = details.url
        host = details.host
        identity = details.identity
        orderingKey = details.orderingKey
        order = row.isStrict ? .strict : .ordered
        isHead = row.isHead
        isHeld = row.isHeld
        self.priority = priority
        lane = row.lane
        tags = details.tagNames
        metadata = details.metadataMembers
        kind = details.kind
        self.enqueuedAt = moment.date(of: enqueuedAt)
        transitionTime = changedAt
        self.changedAt = moment.date(of: changedAt)
        runAt = moment.date(of: row.runAt)
        expiresAt = row.expiresAt.map { moment.date(of: $0) }
        attempts = row.attempts
        attemptLimit = row.attemptLimit
        sentAt = row.sentAt.map { moment.date(of: $0) }
        unknownSince = row.unknownSince.map { moment.date(of: $0) }
        idempotencyKey = details.idempotencyKey
        status = row.status
        token = row.token
        storedCall = details.call
        self.awaitedJobs = awaitedJobs
    }

    /// Returns the typed call that the request was made from, if the request stores it (``ReplayPolicy/storing(_:)``).
    ///
    /// - Parameter type: the type of the call.
    /// - Returns: the call; `nil` if the job stores none, or one of another ``Endpoint/kind``.
    /// - Throws: ``ReplayError/Code/undecodable`` if the stored call is no longer a value of the type. An earlier
    ///   version of the app may have stored it.
    public func call<Call: Endpoint>(as type: Call.Type) throws(ReplayError) -> Call? {
        guard let storedCall, kind.isExactly(Call.kind) else { return nil }
        do { return try JSONDecoder().decode(Call.self, from: Data(storedCall.utf8)) } catch {
            let reason = (error as? DecodingError)?.mistake ?? "its initializer has thrown an error"
            let remedy = "decode what earlier versions have stored, too"
            throw ReplayError(.undecodable, "the call of job \(id) is no \(Call.kind): \(reason): \(remedy)")
        }
    }
}

/// A failed attempt of a job. The queue keeps the last 10.
public struct ReplayFailure: Hashable, Sendable {
    /// The attempt's number, from 1 on. Attempts that do not count have numbers, too.
    public let number: Int
    /// The time at which the attempt was sent.
    public let startedAt: Date
    /// The time at which the outcome was known.
    package let endedAt: Date
    /// A short code: `status 503`, the code of an error, or `died` if the process died.
    public let code: String
    /// A description in one line, without secrets.
    public let message: String

    /// Creates a failure from its parts.
    public init(number: Int, startedAt: Date, endedAt: Date, code: String, message: String) {
        self.number = number
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.code = code
        self.message = message
    }
}

extension ReplayJob: CustomStringConvertible, CustomDebugStringConvertible {
    /// A summary in one line, such as `job 7: POST https://h/notes, waiting (backoff)`, without the app's own data.
    public var description: String {
        let shownURL = RequestURL.masked(Array(url.utf8)).dropFirst().dropLast()
        return "job \(id): \(method) \(shownURL), \(state) (\(reason))"
    }

    public var debugDescription: String { description }
}

extension ReplayFailure: CustomStringConvertible {
    /// A summary in one line, such as `attempt 1: connectionLost, the connection broke`.
    public var description: String { "attempt \(number): \(code), \(message)" }
}
