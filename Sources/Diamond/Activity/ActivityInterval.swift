public import HTTPTypes

/// Something that goes on from one event to another, as ``ActivityEvent/began(_:)`` and ``ActivityEvent/ended(_:_:)`` tell of
/// it.
public struct ActivityInterval: Identifiable, Sendable {
    /// The kinds of intervals; new ones may come.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        enum Name: String { case request, queue, attempt, backoff, pause, refresh }

        let name: Name

        /// A connection, from when it is enqueued until it has finished; or a call that asks a server, until its answer
        /// is there.
        public static let request = Kind(name: .request)
        /// A wait for a place on the wire.
        public static let queue = Kind(name: .queue)
        /// One exchange on the wire, from its begin to the end of its body.
        public static let attempt = Kind(name: .attempt)
        /// The delay between two attempts.
        public static let backoff = Kind(name: .backoff)
        /// A connection is held.
        public static let pause = Kind(name: .pause)
        /// The update of a response that was served stale.
        public static let refresh = Kind(name: .refresh)

        public var description: String { name.rawValue }
    }

    /// Tells this interval from all others of the process, those of other engines included.
    public struct ID: Hashable, Sendable {
        let number: Int
    }

    /// The identity of the interval, equal in its begin and its end.
    public let id: ID
    /// The kind of the interval.
    public let kind: Kind
    /// The request or refresh that it belongs to; of an attempt that several requests share, the first of them. It may be
    /// over before this is.
    public let parent: ID?
    /// The lane of the request.
    public let lane: Lane
    /// Scheme, host and port; empty where the request's URL is none.
    public let origin: String
    /// The tags of the request.
    public let tags: Set<String>
    /// The method of the request.
    public let method: HTTPRequest.Method
    /// Which attempt of its exchange it is, from 1 on, or comes before; `nil` for other kinds.
    public let attempt: Int?
    let writeURL: @Sendable () -> String

    /// The URL without user info, items sorted by name, secret parameters masked. Written when it is asked for.
    public var url: String { writeURL() }
}

/// The outcome of an interval. Empty where there is nothing to add, such as after a wait, and where the interval was
/// canceled or forgotten.
public struct ActivityOutcome: Hashable, Sendable {
    /// The status of the response, if there was one.
    public var status: HTTPResponse.Status?
    /// The source of the response to a request.
    public var source: Response.Source?
    /// The code of the error, such as `timedOut`.
    public var error: String?

    init(status: HTTPResponse.Status? = nil, source: Response.Source? = nil, error: String? = nil) {
        (self.status, self.source, self.error) = (status, source, error)
    }

    init(_ response: Response) { self.init(status: response.status, source: response.source) }
}

extension ActivityInterval: CustomStringConvertible {
    /// One line, such as `attempt 2 of GET https://h/cities`.
    public var description: String {
        "\(kind)\(attempt.map { " \($0)" } ?? "") of \(method.rawValue) \(url)"
    }
}

extension ActivityOutcome: CustomStringConvertible {
    /// A few words, such as `200 from cache` and `timedOut`; `none` where nothing is known.
    public var description: String {
        let answer = status.map { "\($0.code)" + (source.map { " from \($0.rawValue)" } ?? "") }
        let parts = [answer, error].compactMap(\.self)
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }
}
