import HTTPTypes

/// What is counted of requests.
extension Pipeline {
    /// A server is asked: what is answered from the cache is not counted. What a connection asks is counted by that.
    func begin(_ passage: inout Passage, _ token: inout ActivityToken?) {
        guard passage.parent == nil else { return }
        let begun = passage.begin(.request, in: activity)
        passage.belong(to: begun.id)
        token = begun
    }

    /// Counts something that a connection does, whose request is not resolved yet.
    func begin(
        _ kind: ActivityInterval.Kind,
        _ request: Request,
        of parent: ActivityInterval.ID? = nil
    ) -> ActivityToken {
        let known = Passage(known: request.memory, by: environment.number)
        let origin = known?.place.origin ?? environment.origin(of: request)
        let subject = ActivitySubject(lane: request.lane, origin: origin, tags: request.tags)
        return activity.begin(kind, subject, of: parent) {
            ActivityRequest(method: request.method) { [environment] in environment.printableURL(of: request) }
        }
    }
}

extension Environment {
    /// Scheme, host and port; empty where the request cannot be sent.
    fileprivate func origin(of request: Request) -> String {
        (try? RequestURL(parsing: resolvedURL(of: request))).map { String(decoding: $0.origin, as: UTF8.self) } ?? ""
    }

    /// For people: secrets masked.
    fileprivate func printableURL(of request: Request) -> String {
        guard let url = try? resolvedURL(of: request) else { return RequestURL.masked(Array(request.url.utf8)) }
        var request = request
        request.url = url
        return (try? WireRequest(request))?.printableURL(rules) ?? RequestURL.masked(Array(url.utf8))
    }
}
