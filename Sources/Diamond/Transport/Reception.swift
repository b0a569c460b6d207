import Synchronization

/// The wait for the head of a response, which ends with the first of answer, failure and cancellation.
///
/// It also knows whether the request may be at the server, because a cancellation from any thread has to say so at once.
final class Reception: Sendable {
    typealias Outcome = Result<TransportResponse, TransportError>

    /// The outcome; `nil` for a cancellation.
    private let outcome = Promise<Outcome?>()
    /// Set only while the outcome is pending: a cancellation cannot come in between.
    private let isMarkedSent = Atomic(false)

    /// Waits for the outcome. `start` is called where there is something to wait for.
    func outcome(_ start: () -> Void) async -> Outcome {
        if !isOver { start() }
        return await outcome.value() ?? .failure(.cancelled(requestMayHaveBeenSent: isSent))
    }

    /// Ends the wait; only the first outcome counts.
    func resolve(_ outcome: Outcome) { self.outcome.fulfill(with: outcome) }

    func cancel() { outcome.fulfill(with: nil) }

    /// Marks the request as sent, because it is about to be.
    ///
    /// - Returns: `false` where the wait is over, and nothing is to be sent.
    func beginSending() -> Bool { outcome.ifPending { isMarkedSent.store(true, ordering: .releasing) } }

    var isOver: Bool { outcome.isFulfilled }

    /// Whether the request may have reached the server.
    var isSent: Bool { isMarkedSent.load(ordering: .acquiring) }
}
