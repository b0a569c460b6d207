import HTTPTypes

/// The redirects that a request has followed.
struct Redirects {
    /// The request of the next hop.
    struct Hop {
        let request: Request
        /// Whether the body is sent again.
        let hasBody: Bool
    }

    private let limit: Int
    private var count = 0
    /// Whether a server has answered one of the hops.
    private(set) var wasAnswered = false

    init(limit: Int) { self.limit = limit }

    /// Notes the response of a hop.
    mutating func note(_ response: Response) {
        if response.source == .network || response.source == .revalidated { wasAnswered = true }
    }

    /// Returns the next hop; `nil` if the response is not a redirect to follow.
    ///
    /// - Throws: `badResponse` after too many redirects.
    mutating func next(
        after response: Response,
        to request: Request,
        from context: RequestContext,
        rules: KeyRules,
        activity: Activity
    ) throws(ConnectionError) -> Hop? {
        guard limit > 0, response.status.kind == .redirection, context.canFollow(response) else { return nil }
        if let oddity = Redirect.oddity(of: response, from: context.wire) {
            activity.report(.malformedRedirect(reason: oddity))
        }
        let target = Redirect.next(
            after: context.wire, rules: rules, cache: request.cache, timeout: request.timeout, response: response)
        guard var next = target else { return nil }
        next.tags = request.tags
        next.invalidates = request.invalidates
        next.lane = request.lane
        next.retry = request.retry
        next.bodyLimit = request.bodyLimit
        guard count < limit else {
            let advice = "look where it leads, or raise the engine's redirectLimit"
            throw ConnectionError(.badResponse, "\(next) was redirected more than \(limit) times: \(advice)")
        }
        count += 1
        return Hop(
            request: next, hasBody: !Redirect.dropsBody(status: response.status.code, method: context.wire.method))
    }
}
