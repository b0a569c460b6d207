/// An observer that is told what happens in an engine, such as one that writes a log. Pass it to
/// ``Engine/Configuration/observers`` or ``Activity/observe(_:)-(ActivityObserver)``.
public protocol ActivityObserver: Sendable {
    /// Something has happened. Called at once, on the thread where it happened, and by many threads at the same time: be
    /// short, and call nothing of the engine.
    func notice(_ event: ActivityEvent)
}

/// An observer's registration; it lasts as long as this is kept.
public final class ActivityObservation: Sendable {
    private let cancelation: @Sendable () -> Void

    init(_ cancelation: @escaping @Sendable () -> Void) { self.cancelation = cancelation }

    deinit { cancelation() }
}
