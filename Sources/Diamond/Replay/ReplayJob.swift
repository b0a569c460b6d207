public import Foundation

/// A stored request to be sent later, with its state.
public struct ReplayJob: Hashable, Sendable, Identifiable {
    /// The job's number. Ids increase in the order in which jobs are added; none is used twice.
    public var id: Int64
    /// The job's state.
    public var state: ReplayState
    /// The reason for the state.
    public var reason: ReplayReason
    /// The request's method.
    public var method: String
    /// The request's URL for display, without user info and with secrets masked.
    public var url: String
    /// The URL's host, with its port if the URL names one.
    public var host: String
    /// The identity on whose behalf the request is sent; `nil` for none.
    public var identity: String?
    /// The key whose jobs are sent in order; `nil` for none.
    public var orderingKey: String?
    /// The effect on later jobs of the same ordering key if this job cannot be sent.
    public var order: ReplayPolicy.Order
    /// Whether no job of the same ordering key precedes it.
    public var isHead: Bool
    /// The job's priority. Jobs with higher priorities are sent first.
    public var priority: Int
    /// The name of the request's lane.
    public var lane: String
    /// The request's tags, sorted.
    public var tags: [String]
    /// The app's own data.
    public var metadata: [String: JSONValue]
    /// The name of the typed call; `nil` if the request is not a typed call.
    public var kind: String?
    /// The time at which the job was added.
    public var enqueuedAt: Date
    /// The time of the last transition.
    public var changedAt: Date
    /// The earliest time at which the job is sent.
    public var runAt: Date
    /// The time after which the job is not sent; `nil` for no limit.
    public var expiresAt: Date?
    /// The number of attempts that count.
    public var attempts: Int
    /// The number of counted attempts after which the job is dead.
    public var attemptLimit: Int
    /// The start of the current attempt; `nil` if none is under way. Of several attempts, it is the start of the first
    /// that may have been processed.
    public var sentAt: Date?
    /// The start of the first attempt that may have been processed with an unknown outcome; `nil` for none.
    public var unknownSince: Date?
    /// The idempotency key sent with every attempt; `nil` for none.
    public var idempotencyKey: String?
    /// The status of the last answer.
    public var status: Int?
    /// The number of claims and rescues.
    package var token: Int64
}

/// A failed attempt of a job. The queue keeps the last 10.
public struct ReplayFailure: Hashable, Sendable {
    /// The attempt's number, from 1 on. It includes the attempts that do not count.
    public var number: Int
    /// The time at which the attempt was sent.
    public var startedAt: Date
    /// The time at which the outcome was known.
    public var endedAt: Date
    /// A short code: `status 503`, the code of an error, or `died` if the process died.
    public var code: String
    /// A description in one line, without secrets.
    public var message: String
}

extension ReplayJob: CustomStringConvertible, CustomDebugStringConvertible {
    /// A summary in one line, such as `job 7: POST https://h/notes, waiting (backoff)`, without the app's own data.
    public var description: String {
        let place = RequestURL.masked(Array(url.utf8)).dropFirst().dropLast()
        return "job \(id): \(method) \(place), \(state) (\(reason))"
    }

    public var debugDescription: String { description }
}

extension ReplayFailure: CustomStringConvertible {
    /// A summary in one line, such as `attempt 1: connectionLost, the connection broke`.
    public var description: String { "attempt \(number): \(code), \(message)" }
}
