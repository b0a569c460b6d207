import HTTPTypes

/// The lane, origin and tags that an interval is counted under.
struct ActivitySubject: Hashable, Sendable {
    var lane: Lane
    /// The scheme, host and port.
    var origin: String
    var tags: Tags
}

/// The parts of a request that an interval reports, in addition to its subject.
struct ActivityRequest: Sendable {
    var method: HTTPRequest.Method
    /// Returns the URL for display, with masked secrets.
    var url: @Sendable () -> String
}

extension ActivityRequest {
    /// - Parameters:
    ///   - url: the URL as it is sent.
    ///   - rules: the request's own rules.
    init(_ method: HTTPRequest.Method, url: String, rules own: IdentityRules, in activity: Activity) {
        self.method = method
        self.url = { [rules = activity.rules] in rules.adding(own).printable(url) }
    }
}

/// The properties that the intervals of one exchange share.
struct ActivityScope: Sendable {
    let activity: Activity
    let subject: ActivitySubject
    /// The request or refresh that the intervals belong to.
    let parent: ActivityInterval.ID?
    let method: HTTPRequest.Method
    /// The URL as it is sent.
    let url: String
    /// The request's own rules.
    let rules: IdentityRules

    func begin(_ kind: ActivityInterval.Kind, attempt: Int = 1) -> ActivityToken {
        activity.begin(kind, for: subject, of: parent, attempt: attempt) { request }
    }

    /// The request as an interval reports it.
    var request: ActivityRequest { ActivityRequest(method, url: url, rules: rules, in: activity) }
}
