/// What is told of a passage.
extension Passage {
    /// What the intervals of its exchange have in common.
    func scope(in activity: Activity) -> ActivityScope {
        ActivityScope(
            activity: activity,
            subject: ActivitySubject(lane: place.lane, origin: place.origin, tags: tags),
            parent: asker.request,
            method: wire.method,
            url: url,
            rules: wire.rules
        )
    }

    /// Counts a request or a refresh.
    func begin(_ kind: ActivityInterval.Kind, in activity: Activity) -> ActivityToken {
        let scope = scope(in: activity)
        return activity.begin(kind, scope.subject) { scope.request }
    }
}
