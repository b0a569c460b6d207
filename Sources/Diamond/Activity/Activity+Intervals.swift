import DiamondSQLite

extension Activity {
    /// Begins an interval. It ends with the token, at the latest when that is deallocated.
    ///
    /// - Parameters:
    ///   - parent: the request or refresh that the interval belongs to.
    ///   - attempt: the number of the attempt, for an attempt and the waits before it.
    ///   - request: called only if there is an observer.
    func begin(
        _ kind: ActivityInterval.Kind,
        for subject: ActivitySubject,
        of parent: ActivityInterval.ID? = nil,
        attempt: Int? = nil,
        request: () -> ActivityRequest
    ) -> ActivityToken {
        let beginning = state.withLock { $0.begin(kind, for: subject) }
        let interval =
            beginning.notifications.observers.isEmpty
            ? nil
            : ActivityInterval(
                id: beginning.id, kind: kind, subject: subject, parent: parent, attempt: attempt, request: request())
        beginning.notifications.deliver { interval.map { .began($0) } }
        return ActivityToken(beginning, kind: kind, interval: interval, in: self)
    }

    /// Ends the interval of a token.
    ///
    /// - Parameter outcome: called only if the begin was observed; `nil` to report the outcome that was set on the
    ///   token.
    func end(_ token: ActivityToken, outcome: () -> ActivityOutcome?) {
        let notifications = state.withLock { state -> ActivityNotifications? in
            guard token.isOpen else { return nil }
            token.isOpen = false
            return state.end(token.kind, entry: token.entry)
        }
        // Read without the lock: the outcome of an ended interval no longer changes.
        notifications?.deliver { token.observed.map { .ended($0.interval, outcome() ?? $0.outcome) } }
    }

    func setOutcome(_ outcome: ActivityOutcome, of token: ActivityToken) {
        state.withLock { _ in if token.isOpen { token.observed?.outcome = outcome } }
    }
}

extension ActivityInterval {
    fileprivate init(
        id: ID,
        kind: Kind,
        subject: ActivitySubject,
        parent: ID?,
        attempt: Int?,
        request: ActivityRequest
    ) {
        self.id = id
        self.kind = kind
        self.parent = parent
        self.attempt = attempt
        lane = subject.lane
        origin = subject.origin
        tags = subject.tags
        method = request.method
        startedAt = .now
        writeURL = request.url
    }
}
