/// One counted interval. Ends once, however often it is ended, and at the latest when it is forgotten.
///
/// `@unchecked Sendable`: `isOpen` and `outcome` are changed only while the lock of the activity is held, and `outcome` only
/// while it is open; who has closed it may read it.
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

    // Nobody else has it any more.
    deinit { if isOpen { end() } }

    /// What its end will tell, unless that says something itself.
    func note(_ outcome: @autoclosure () -> ActivityOutcome) {
        if interval != nil { activity.note(outcome(), self) }
    }

    package func end() { activity.end(self) { nil } }

    func end(_ outcome: @autoclosure () -> ActivityOutcome) { activity.end(self, outcome) }
}
