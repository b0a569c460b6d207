public import HTTPTypes

/// A unit of work or a wait that has a begin and an end, reported by ``ActivityEvent/began(_:)`` and
/// ``ActivityEvent/ended(_:_:)``.
public struct ActivityInterval: Identifiable, Sendable {
    /// The kinds of intervals. Later versions may add kinds.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        enum Name: String { case request, queue, attempt, backoff, pause, refresh }

        let name: Name

        /// A connection, from when it is started until it has finished; or a call that contacts a server, until its
        /// response is returned.
        public static let request = Kind(name: .request)
        /// A wait for a permit.
        public static let queue = Kind(name: .queue)
        /// An attempt on the wire, from its begin to the end of the response body.
        public static let attempt = Kind(name: .attempt)
        /// The delay between two attempts.
        public static let backoff = Kind(name: .backoff)
        /// A pause of a connection.
        public static let pause = Kind(name: .pause)
        /// The update of a response that was served stale.
        public static let refresh = Kind(name: .refresh)

        public var description: String { name.rawValue }
    }

    /// The identity of an interval, unique in the process across engines.
    public struct ID: Hashable, Sendable {
        let number: Int
    }

    /// The identity of the interval, equal in its begin and its end.
    public let id: ID
    /// The kind of the interval.
    public let kind: Kind
    /// The request or refresh that the interval belongs to; the first one if several requests share an attempt. It may
    /// end before the interval.
    public let parent: ID?
    /// The number, from 1, of the attempt, for attempts and for the waits before them; `nil` for other kinds.
    public let attempt: Int?
    /// The instant of the begin. In its end, the interval has lasted until now.
    public let startedAt: ContinuousClock.Instant
    let subject: ActivitySubject
    let request: ActivityRequest

    /// The lane of the request.
    public var lane: Lane { subject.lane }
    /// The scheme, host and port; empty if the request's URL is malformed.
    public var origin: String { subject.origin }
    /// The tags of the request.
    public var tags: Tags { subject.tags }
    /// The method of the request.
    public var method: HTTPRequest.Method { request.method }
    /// The URL without user info, with query items sorted by name and secret parameters masked. Computed on each
    /// access.
    public var url: String { request.url() }
}

/// The outcome of an interval. It is empty if there is nothing to report, such as after a wait, or if the interval was
/// canceled.
public struct ActivityOutcome: Hashable, Sendable {
    /// The status of the response, if there was one.
    public var status: HTTPResponse.Status?
    /// The source of the response to a request.
    public var source: Response.Source?
    /// The code of the error, such as `timedOut`.
    public var error: String?
}

extension ActivityOutcome {
    init(_ response: Response) { self.init(status: response.status, source: response.source) }
}

extension ActivityInterval: CustomStringConvertible {
    /// A one-line description, such as `attempt 2 of GET https://h/cities`.
    public var description: String {
        "\(kind)\(attempt.map { " \($0)" } ?? "") of \(method.rawValue) \(url)"
    }
}

extension ActivityOutcome: CustomStringConvertible {
    /// A short description, such as `200 from cache` or `timedOut`; `none` for an empty outcome.
    public var description: String {
        let answer = status.map { "\($0.code)" + (source.map { " from \($0.rawValue)" } ?? "") }
        let parts = [answer, error].compactMap(\.self)
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }
}
