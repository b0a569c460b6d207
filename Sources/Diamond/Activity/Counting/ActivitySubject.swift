import HTTPTypes

/// The subject that an interval is counted under.
struct ActivitySubject: Hashable, Sendable {
    var lane: Lane
    /// Scheme, host and port.
    var origin: String
    var tags: Set<String>

    static func == (one: ActivitySubject, other: ActivitySubject) -> Bool {
        one.lane == other.lane && one.origin == other.origin && one.tags.isExactly(other.tags)
    }
}

/// The parts of a request that an interval reports, in addition to its subject.
struct ActivityRequest: Sendable {
    var method: HTTPRequest.Method
    /// For people: secrets masked.
    var url: @Sendable () -> String
}

/// The properties that the intervals of one exchange share.
struct ActivityScope: Sendable {
    let activity: Activity
    let subject: ActivitySubject
    /// The interval that they belong to.
    let parent: ActivityInterval.ID?
    let method: HTTPRequest.Method
    /// As it is sent.
    let url: String
    /// The request's own.
    let rules: IdentityRules

    func begin(_ kind: ActivityInterval.Kind, attempt: Int = 1) -> ActivityToken {
        activity.begin(kind, subject, of: parent, attempt: attempt) { request }
    }

    /// The request as an interval reports it.
    var request: ActivityRequest {
        ActivityRequest(method: method) { [rules = activity.rules, own = rules, url] in
            rules.adding(own).printable(url)
        }
    }
}
