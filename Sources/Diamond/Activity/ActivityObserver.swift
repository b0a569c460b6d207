/// Receives an engine's events, for example to log them. Pass it to ``Engine/Configuration/observers``.
public protocol ActivityObserver: Sendable {
    /// Receives an event. Called synchronously, on the thread of the event, and by several threads at the same time. It
    /// must return quickly, and must not call the engine.
    func receive(_ event: ActivityEvent)
}

/// The registration of an observer. It ends when this is deallocated.
public final class ActivityObservation: Sendable {
    private let cancellation: @Sendable () -> Void

    init(_ cancellation: @escaping @Sendable () -> Void) { self.cancellation = cancellation }

    deinit { cancellation() }
}
