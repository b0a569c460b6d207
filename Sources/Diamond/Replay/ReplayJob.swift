public import Foundation

/// A request that is kept to be sent later, and what has become of it.
public struct ReplayJob: Hashable, Sendable, Identifiable {
    /// In the order in which jobs were added; none is used twice.
    public var id: Int64
    /// Where it stands.
    public var state: ReplayState
    /// Why it is in this state.
    public var reason: ReplayReason
    /// The request's.
    public var method: String
    /// For people: without user info, secrets masked.
    public var url: String
    /// With its port, where the URL names one.
    public var host: String
    /// On whose behalf; `nil` where it is nobody's in particular.
    public var identity: String?
    /// What keeps it in order with others; `nil` for none.
    public var orderingKey: String?
    /// What it means for those behind it when it cannot be sent.
    public var order: ReplayPolicy.Order
    /// Whether none of its ordering key stands before it.
    public var isHead: Bool
    /// Higher ones are sent first.
    public var priority: Int
    /// The name of the request's lane.
    public var lane: String
    /// The request's, sorted.
    public var tags: [String]
    /// The app's own.
    public var metadata: [String: JSONValue]
    /// The name of the typed call; `nil` where it is none.
    public var kind: String?
    /// When it was added.
    public var enqueuedAt: Date
    /// Its last transition.
    public var changedAt: Date
    /// It is not sent before.
    public var runAt: Date
    /// It is not sent after; `nil` forever.
    public var expiresAt: Date?
    /// Those that count.
    public var attempts: Int
    /// How many of those there may be before it is dead.
    public var attemptLimit: Int
    /// When what goes on began: of several attempts, the first that may have been processed; `nil` where none goes on.
    public var sentAt: Date?
    /// The first attempt that may have been processed without anybody knowing; `nil` where there was none.
    public var unknownSince: Date?
    /// Sent with every attempt; `nil` where none is.
    public var idempotencyKey: String?
    /// Of the last answer.
    public var status: Int?
    /// Counts claims and rescues.
    package var token: Int64
}

/// An attempt of a job that came to nothing. The last 10 are kept.
public struct ReplayFailure: Hashable, Sendable {
    /// From 1 on, those that do not count included.
    public var number: Int
    /// When it was sent.
    public var startedAt: Date
    /// When its outcome was known.
    public var endedAt: Date
    /// One word: `status 503`, the code of an error, or `died` of its process.
    public var code: String
    /// One line, without secrets.
    public var message: String
}

extension ReplayJob: CustomStringConvertible, CustomDebugStringConvertible {
    /// One line, such as `job 7: POST https://h/notes, waiting (backoff)`; without what the app has put into it.
    public var description: String {
        let place = RequestURL.masked(Array(url.utf8)).dropFirst().dropLast()
        return "job \(id): \(method) \(place), \(state) (\(reason))"
    }

    public var debugDescription: String { description }
}

extension ReplayFailure: CustomStringConvertible {
    /// One line, such as `attempt 1: connectionLost, the connection broke`.
    public var description: String { "attempt \(number): \(code), \(message)" }
}
