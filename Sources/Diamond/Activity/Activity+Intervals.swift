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
                id: beginning.id, kind: kind, parent: parent, attempt: attempt, startedAt: .now, subject: subject,
                request: request())
        beginning.notifications.deliver { interval.map { .began($0) } }
        return ActivityToken(beginning, kind: kind, interval: interval, in: self)
    }
}
