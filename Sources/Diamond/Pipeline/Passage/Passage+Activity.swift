/// What is told of a passage.
extension Passage {
    /// What the intervals of its exchange have in common.
    func scope(in activity: Activity) -> ActivityScope {
        ActivityScope(
            activity: activity,
            subject: activitySubject,
            parent: parent,
            method: wire.method,
            url: url,
            rules: wire.rules
        )
    }

    /// Counts a request or a refresh.
    func begin(_ kind: ActivityInterval.Kind, in activity: Activity) -> ActivityToken {
        activity.begin(kind, activitySubject) { scope(in: activity).request }
    }

    private var activitySubject: ActivitySubject {
        ActivitySubject(lane: place.lane, origin: place.origin, tags: tags)
    }
}
