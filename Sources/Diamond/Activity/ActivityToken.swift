/// One counted interval. Ends once, however often it is ended, and at the latest when it is forgotten.
///
/// `@unchecked Sendable`: `isOpen` and the outcome that is told are changed only while the lock of the activity is held, and
/// that only while it is open; who has closed it may read it.
package final class ActivityToken: @unchecked Sendable {
    /// The interval and the outcome that its end reports.
    // Apart: most are observed by nobody, and each that waits has two.
    final class Story {
        let interval: ActivityInterval
        var outcome = ActivityOutcome()

        init(_ interval: ActivityInterval) { self.interval = interval }
    }

    let id: ActivityInterval.ID
    /// The place of its account.
    let place: Int
    /// `nil` where no observer was told of its begin.
    let story: Story?
    private let activity: Activity
    // Last, and beside each other: each that waits has two tokens, and these take no word of their own.
    let kind: ActivityInterval.Kind
    var isOpen = true

    init(
        _ beginning: ActivityState.Beginning,
        _ kind: ActivityInterval.Kind,
        _ interval: ActivityInterval?,
        in activity: Activity
    ) {
        (id, place) = (beginning.id, beginning.place)
        (self.kind, self.activity, story) = (kind, activity, interval.map(Story.init))
    }

    // Nobody else has it any more.
    deinit { if isOpen { end() } }

    /// Notes the outcome that its end reports, unless the end gives one itself.
    func note(_ outcome: @autoclosure () -> ActivityOutcome) {
        if story != nil { activity.note(outcome(), self) }
    }

    package func end() { activity.end(self) { nil } }

    func end(_ outcome: @autoclosure () -> ActivityOutcome) { activity.end(self, outcome) }
}
