#if Tools
import NIOCore
import Synchronization

/// The phase of a client's connection. ``HitResponder`` sets it, and the task that serves the connection while it reads
/// the body of a request. ``ClientLimits`` reads it.
final class ConnectionPhase: Sendable {
    enum Kind: Int {
        /// The proxy waits for the head of a request.
        case head
        /// The proxy waits for the next piece of a request's body.
        case body
        /// The client waits for the response, or reads it.
        case response
    }

    /// A phase of a connection. No two phases of a connection are equal.
    struct Value: Hashable {
        let number: Int
        var kind: Kind { Kind(rawValue: number % 4) ?? .response }
    }

    private let number = Atomic(0)
    private let startTime = Atomic(NIODeadline.now().uptimeNanoseconds)
    private let quiescing = Atomic(false)

    var value: Value { Value(number: number.load(ordering: .acquiring)) }

    /// The time at which the phase has begun.
    var start: NIODeadline { .uptimeNanoseconds(startTime.load(ordering: .relaxed)) }

    /// Begins a phase. No two calls overlap: while the task has a request, only the task calls it; otherwise only the
    /// event loop.
    func begin(_ kind: Kind) {
        let next = (value.number / 4 + 1) * 4 + kind.rawValue
        startTime.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed)
        number.store(next, ordering: .releasing)
    }

    /// Whether the proxy stops. The connection then serves no other request.
    var isQuiescing: Bool { quiescing.load(ordering: .acquiring) }

    func quiesce() { quiescing.store(true, ordering: .releasing) }
}
#endif
