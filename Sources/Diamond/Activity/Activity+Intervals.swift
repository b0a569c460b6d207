import DiamondSQLite

extension Activity {
    /// Counts something in; it is counted out when the token ends, or at the latest when it is dropped.
    ///
    /// - Parameters:
    ///   - parent: the request or refresh that it belongs to.
    ///   - attempt: of an attempt and what comes before it.
    ///   - request: asked for only where there is an observer.
    func begin(
        _ kind: ActivityInterval.Kind,
        _ subject: ActivitySubject,
        of parent: ActivityInterval.ID? = nil,
        attempt: Int? = nil,
        request: () -> ActivityRequest
    ) -> ActivityToken {
        let (beginning, news) = state.withLock { $0.begin(kind, subject) }
        let interval =
            news.observers.isEmpty
            ? nil : ActivityInterval(beginning.id, kind, subject, of: parent, attempt, request())
        news.tell { interval.map { .began($0) } }
        return ActivityToken(beginning, kind, interval, in: self)
    }

    /// - Parameter outcome: asked for only where somebody has observed the begin; `nil` for what was noted.
    func end(_ token: ActivityToken, _ outcome: () -> ActivityOutcome?) {
        let news = state.withLock { state -> ActivityNews? in
            guard token.isOpen else { return nil }
            token.isOpen = false
            return state.end(token.kind, at: token.place)
        }
        // Of what has ended, nothing is noted any more.
        news?.tell { token.story.map { .ended($0.interval, outcome() ?? $0.outcome) } }
    }

    func note(_ outcome: ActivityOutcome, _ token: ActivityToken) {
        state.withLock { _ in if token.isOpen { token.story?.outcome = outcome } }
    }
}

extension ActivityInterval {
    fileprivate init(
        _ id: ID,
        _ kind: Kind,
        _ subject: ActivitySubject,
        of parent: ID?,
        _ attempt: Int?,
        _ request: ActivityRequest
    ) {
        (self.id, self.kind, self.parent, self.attempt) = (id, kind, parent, attempt)
        (lane, origin, tags) = (subject.lane, subject.origin, subject.tags)
        (method, writeURL) = (request.method, request.url)
    }
}
