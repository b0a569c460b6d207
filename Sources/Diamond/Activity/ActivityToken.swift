/// One counted interval. Ends once, however often it is ended, and at the latest when it is forgotten.
///
/// `@unchecked Sendable`: `isOpen` and `outcome` are touched only while the lock of the activity is held.
package final class ActivityToken: @unchecked Sendable {
    let id: ActivityInterval.ID
    let kind: ActivityInterval.Kind
    /// Of its account.
    let place: Int
    /// What its end is told with; `nil` where nobody observed its begin.
    let interval: ActivityInterval?
    private let activity: Activity
    var isOpen = true
    var outcome = ActivityOutcome()

    init(
        _ beginning: ActivityState.Beginning,
        _ kind: ActivityInterval.Kind,
        _ interval: ActivityInterval?,
        in activity: Activity
    ) {
        (id, place) = (beginning.id, beginning.place)
        (self.kind, self.interval, self.activity) = (kind, interval, activity)
    }

    deinit { end() }

    /// What its end will tell, unless that says something itself.
    func note(_ outcome: ActivityOutcome) { activity.note(outcome, self) }

    package func end() { activity.end(self, nil) }

    func end(_ outcome: ActivityOutcome) { activity.end(self, outcome) }
}
