import HTTPTypes

/// What an interval is counted under.
struct ActivitySubject: Hashable, Sendable {
    var lane: Lane
    /// Scheme, host and port.
    var origin: String
    var tags: Set<String>

    static func == (one: ActivitySubject, other: ActivitySubject) -> Bool {
        one.lane == other.lane && one.origin == other.origin && one.tags.isExactly(other.tags)
    }
}

/// What an interval is told with, beside what it is counted under.
struct ActivityRequest: Sendable {
    var method: HTTPRequest.Method
    /// For people: secrets masked.
    var url: @Sendable () -> String
}

/// What the intervals of one exchange have in common.
struct ActivityScope: Sendable {
    let activity: Activity
    let subject: ActivitySubject
    /// What they belong to.
    let parent: ActivityInterval.ID?
    let method: HTTPRequest.Method
    /// As it is sent.
    let url: String
    /// The request's own.
    let rules: IdentityRules

    func begin(_ kind: ActivityInterval.Kind, attempt: Int = 1) -> ActivityToken {
        activity.begin(kind, subject, of: parent, attempt: attempt) { request }
    }

    /// Of what is told of it.
    var request: ActivityRequest {
        ActivityRequest(method: method) { [rules = activity.rules, own = rules, url] in
            rules.adding(own).printable(url)
        }
    }
}
