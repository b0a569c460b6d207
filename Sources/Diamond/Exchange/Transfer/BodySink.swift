import DiamondSQLite
import Foundation
import HTTPTypes

/// Receives the body of a response piece by piece, so that it is never in memory as a whole.
///
/// One exchange calls it, in this order:
/// 1. ``open()``
/// 2. for each attempt with a successful response, ``begin(_:)`` and any number of ``append(_:)``; for the rest of a
///    response that an earlier attempt has begun, ``append(_:)`` alone
/// 3. ``complete()`` once, at the end of the body
protocol BodySink: AnyObject, Sendable {
    /// The maximum number of bytes of a body.
    var limit: Int { get }
    /// Whether bytes of a response were passed on, and cannot be taken back. Then nothing is sent again.
    var isCommitted: Bool { get }
    /// Whether the rest of a response that broke may follow the bytes received so far.
    var isContinuable: Bool { get }

    /// Whether the received bytes count as the whole representation. Then a 206 that was not requested is refused.
    var isForWhole: Bool { get }

    /// Whether the bodies of all statuses go into the sink, and not only those of successes.
    var takesEveryStatus: Bool { get }

    /// Whether the caller has left, and the body is received for the cache alone.
    var isForCacheAlone: Bool { get }

    /// Receives the interim responses of the server; `nil` if they are discarded.
    var onInterim: (@Sendable (InterimResponse) -> Void)? { get }

    /// Prepares to receive a body. Called with a permit, before anything is sent, and again when a redirect is
    /// followed.
    func open() throws(ConnectionError)

    /// Begins the body of a response, and discards the bytes received before.
    ///
    /// - Parameter head: the response with the attempts that led to it, and without a body.
    func begin(_ head: Response) async throws(TransportError)

    /// Receives another piece. The transfer waits until this returns.
    func append(_ piece: Data) async throws(TransportError)

    /// Notes the end of the body.
    func complete()

    /// Whether the sink has received the whole body. A response that is not for the sink goes to the caller as a whole.
    var isComplete: Bool { get }

    func receive(_ event: ExchangeEvent)
}

extension BodySink {
    var takesEveryStatus: Bool { false }
    var isForCacheAlone: Bool { false }
    var onInterim: (@Sendable (InterimResponse) -> Void)? { nil }
    func open() {}
    func receive(_ event: ExchangeEvent) {}
}

/// Discards a body, which is stored while it is received: for refreshes in the background.
final class DiscardingSink: BodySink {
    private let completion = Guarded(false)

    var limit: Int { .max }
    var isCommitted: Bool { false }
    var isContinuable: Bool { false }
    var isForWhole: Bool { true }
    var takesEveryStatus: Bool { true }
    var isComplete: Bool { completion.withLock { $0 } }

    func begin(_ head: Response) {}
    func append(_ piece: Data) {}
    func complete() { completion.withLock { $0 = true } }
}
