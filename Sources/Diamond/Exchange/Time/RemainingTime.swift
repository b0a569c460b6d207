/// The time that a request has left for code of the app that it waits for before it is sent.
struct RemainingTime: Sendable {
    /// The time; `nil` if it is not limited.
    let rest: Duration?
    /// The waits that this one is part of.
    let waits: PendingWaits
    /// Whether something of the request may have been sent before.
    var serverMayHaveActed = false
    /// Whether the result of the code is needed only for the wire.
    var isBeforeWire = true

    /// Returns the value of the code, if it comes in time. The code may ignore its cancellation; a later value is
    /// dropped.
    ///
    /// - Throws: `timedOut` if the time is up, `cancelled` with the waiting task, `noEngine` if the engine is closed,
    ///   and the errors of the code.
    func value<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(ConnectionError) -> Value
    ) async throws(ConnectionError) -> Value {
        switch await waits.value(within: rest, isBeforeWire: isBeforeWire, { await Result(body) }) {
        case .success(let outcome): return try outcome.get()
        case .failure(.late): throw ConnectionError(outOfTime: serverMayHaveActed)
        case .failure(.canceled): throw .cancelled
        case .failure(.closed): throw ConnectionError(closedWhile: serverMayHaveActed)
        }
    }
}

extension ConnectionError {
    /// Creates the error of a request whose time is up while nothing of it is on the wire.
    ///
    /// - Parameter serverMayHaveActed: whether something of the request may have been sent before.
    init(outOfTime serverMayHaveActed: Bool) {
        let message = "the time was up before the request could be sent: allow it more in the retry policy"
        self.init(TransportError(.timedOut, message, serverMayHaveActed: serverMayHaveActed))
    }

    /// Creates the error of a request that waits while the engine is closed.
    ///
    /// - Parameter serverMayHaveActed: whether something of the request may have been sent before.
    init(closedWhile serverMayHaveActed: Bool) {
        let message = "the engine was closed before the request could be sent: make a new engine"
        self.init(TransportError(.closed, message, serverMayHaveActed: serverMayHaveActed))
    }
}
