import DiamondSQLite

/// The changes of a transaction of a ``ReplayStorage``.
public struct ReplayCommit: Hashable, Sendable {
    /// The transitions, in their order.
    public var transitions: [ReplayTransition]
    /// The jobs with other changes, such as those whose answers were consumed.
    public var touched: Set<ReplayJob.ID>
    /// Whether a hold was added or ended. Its jobs may not have changed yet.
    public var changesHolds: Bool

    /// Creates a commit.
    public init(
        _ transitions: [ReplayTransition] = [], touched: Set<ReplayJob.ID> = [], changesHolds: Bool = false
    ) {
        self.transitions = transitions
        self.touched = touched
        self.changesHolds = changesHolds
    }
}

/// The observer of a storage's changes.
package final class ReplayCommitObserver: Sendable {
    // A structure: each access to a function that a generic type stores wraps it in one more function.
    private struct Observer {
        let report: @Sendable (ReplayCommit) -> Void
    }

    private let observer = Guarded<Observer?>(nil)

    package init() {}

    package func set(_ report: @escaping @Sendable (ReplayCommit) -> Void) {
        observer.withLock { $0 = Observer(report: report) }
    }

    package func report(_ commit: ReplayCommit) { observer.withLock { $0 }?.report(commit) }
}

/// The changes by other processes that a ``ReplayWatch`` reports.
public enum ReplayWatchSubject: Hashable, Sendable {
    /// Jobs that can be claimed or have ended, the end of a hold, and the ends of owners.
    case jobs
    /// Holds.
    case holds
}

/// An observer of other processes. It observes until it is released.
public protocol ReplayWatch: AnyObject, Sendable {
    /// Whether it reports all changes of its subject, apart from the ends of owners, within a second. What it does not
    /// report is polled.
    var reportsChanges: Bool { get }
    /// Whether it reports the ends of owners, too.
    var reportsEnds: Bool { get }
}
