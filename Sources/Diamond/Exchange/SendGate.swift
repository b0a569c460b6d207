import DiamondSQLite

/// The last check before each exchange of a kept request: while the request waited for its place on the wire, its job may have
/// been held, or become another process's.
final class SendGate: Sendable {
    private struct State {
        var hasRefused = false
        var isBehindRedirect = false
    }

    private let open: @Sendable (_ isUnderWay: Bool) async -> Bool
    private let undo: @Sendable () -> Void
    private let pause: @Sendable () -> Void
    private let state = Guarded(State())

    /// - Parameters:
    ///   - open: returns whether the request may be sent. `isUnderWay` says whether the exchange continues one that was sent.
    ///   - takeBack: called when the exchange that was sent last was certainly not processed.
    ///   - rest: called when nothing will be sent for a while.
    init(
        open: @escaping @Sendable (_ isUnderWay: Bool) async -> Bool,
        takeBack: @escaping @Sendable () -> Void = {},
        rest: @escaping @Sendable () -> Void = {}
    ) {
        (self.open, undo, pause) = (open, takeBack, rest)
    }

    /// - Parameter isBeside: whether another attempt is on the wire.
    /// - Throws: ``ConnectionError`` `cancelled` if the task is canceled, or the request may not be sent: then ``hasRefused`` is
    ///   `true`.
    func pass(isBeside: Bool = false) async throws(ConnectionError) {
        guard !Task.isCancelled else { throw .cancelled }
        let isOpen = await open(isBeside || isBehindRedirect)
        // A canceled task may have kept `open` from its answer.
        if !isOpen, Task.isCancelled { throw .cancelled }
        guard isOpen else {
            // A refused hedge leaves the first attempt on its way.
            if !isBeside { state.withLock { $0.hasRefused = true } }
            throw ConnectionError(.cancelled, "the request is sent by somebody else, or may not be sent now")
        }
    }

    /// Notes that the exchange that was sent last was certainly not processed.
    func takeBack() { undo() }

    /// Notes that nothing will be sent until the next attempt's time has come.
    func rest() { pause() }

    /// Notes that a server has answered with a redirect. It may have acted on the request, whatever comes of the next hop.
    func noteRedirect() { state.withLock { $0.isBehindRedirect = true } }

    /// Whether the gate, and not a cancellation, has ended the request.
    var hasRefused: Bool { state.withLock { $0.hasRefused } }

    var isBehindRedirect: Bool { state.withLock { $0.isBehindRedirect } }
}
