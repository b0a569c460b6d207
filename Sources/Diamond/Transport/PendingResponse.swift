import Synchronization

/// The wait for the head of a response. It ends with a response, an error or a cancellation, whichever is first.
///
/// It also stores whether the request may have reached the server, because a cancellation from any thread has to report
/// that at once.
final class PendingResponse: Sendable {
    typealias Outcome = Result<TransportResponse, TransportError>

    /// The outcome; `nil` for a cancellation.
    private let outcome = Promise<Outcome?>()
    /// Set only while the outcome is pending, so that it cannot race with a cancellation.
    private let isMarkedSent = Atomic(false)

    /// Waits for the outcome. `start` is called unless the wait is already over.
    func outcome(_ start: () -> Void) async -> Outcome {
        if !isOver { start() }
        return await outcome.value() ?? .failure(.cancelled(serverMayHaveActed: isSent))
    }

    /// Ends the wait; only the first outcome counts.
    func resolve(_ outcome: Outcome) { self.outcome.fulfill(with: outcome) }

    func cancel() { outcome.fulfill(with: nil) }

    /// Marks the request as sent, immediately before it is sent.
    ///
    /// - Returns: `false` if the wait is over and the request must not be sent.
    func beginSending() -> Bool { outcome.ifPending { isMarkedSent.store(true, ordering: .releasing) } }

    var isOver: Bool { outcome.isFulfilled }

    /// Whether the request may have reached the server.
    var isSent: Bool { isMarkedSent.load(ordering: .acquiring) }
}
