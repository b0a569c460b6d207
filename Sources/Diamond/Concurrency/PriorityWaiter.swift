/// A caller that waits with a priority, which may change while it waits.
protocol PriorityWaiter: Sendable {
    /// The priority now.
    var priority: RequestPriority { get }

    /// Sets the closure to call with changes of the priority.
    ///
    /// - Parameter change: called with each new priority while the caller waits; `nil` when it no longer waits.
    func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?)
}

extension PriorityWaiter {
    /// Registers for changes of the priority, and reports a change that preceded the registration.
    ///
    /// - Parameters:
    ///   - known: the priority at the start of the wait.
    ///   - change: called with each new priority.
    func follow(since known: RequestPriority, _ change: @escaping @Sendable (RequestPriority) -> Void) {
        onPriorityChange(change)
        known.reportChanges(upTo: { priority }, to: change)
    }
}
