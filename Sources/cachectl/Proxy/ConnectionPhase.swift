#if Tools
import Synchronization

/// The phase of a client's connection, which begins with the wait for a head: set by the task that serves it, and read by the handler that limits its time.
final class ConnectionPhase: Sendable {
    enum Kind: Int {
        /// The next request is waited for.
        case head
        /// The next piece of a request's body is waited for.
        case body
        /// The client waits, or reads the response.
        case response
    }

    /// A phase, which differs from every other of the connection.
    struct Value: Hashable {
        let number: Int
        var kind: Kind { Kind(rawValue: number % 4) ?? .response }
    }

    private let number = Atomic(0)
    private let quiescing = Atomic(false)

    var value: Value { Value(number: number.load(ordering: .acquiring)) }

    /// Begins a phase. Only the task that serves the connection calls it.
    func begin(_ kind: Kind) {
        let next = (value.number / 4 + 1) * 4 + kind.rawValue
        number.store(next, ordering: .releasing)
    }

    /// Whether the proxy stops, and the connection serves no other request.
    var isQuiescing: Bool { quiescing.load(ordering: .acquiring) }

    func quiesce() { quiescing.store(true, ordering: .releasing) }
}
#endif
