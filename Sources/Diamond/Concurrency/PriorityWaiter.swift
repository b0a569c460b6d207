/// A caller that waits with a priority, which may change while it waits.
protocol PriorityWaiter: Sendable {
    /// The priority now.
    var priority: RequestPriority { get }

    /// Sets the closure that is told of changes of the priority.
    ///
    /// - Parameter change: takes each new priority while the caller waits; `nil` when it no longer waits.
    func onPriorityChange(_ change: (@Sendable (RequestPriority) -> Void)?)
}

extension PriorityWaiter {
    /// Registers for changes of the priority, and tells those that came before anybody was registered.
    ///
    /// - Parameters:
    ///   - known: the priority that the wait has begun with.
    ///   - change: takes each new priority.
    func follow(since known: RequestPriority, _ change: @escaping @Sendable (RequestPriority) -> Void) {
        onPriorityChange(change)
        known.keepUp(with: { priority }, tell: change)
    }
}
