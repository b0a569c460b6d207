import DiamondSQLite

/// The last check before each attempt of a durable request: while the request waited for its permit, its job may have
/// been held, or claimed by another process.
final class SendGate: Sendable {
    private struct State {
        var hasRefused = false
        var isBehindRedirect = false
    }

    private let open: @Sendable (_ isUnderWay: Bool) async -> Bool
    /// Notes that the attempt that was sent last was certainly not processed.
    let noteUnprocessed: @Sendable () -> Void
    /// Notes that nothing will be sent until the time of the next attempt.
    let noteBackoff: @Sendable () -> Void
    private let state = Guarded(State())

    /// - Parameters:
    ///   - open: returns whether the request may be sent. `isUnderWay` says whether the request was sent before: by the
    ///     first of two parallel attempts, or before a redirect.
    ///   - onUnprocessed: called when the attempt that was sent last was certainly not processed.
    ///   - onBackoff: called when nothing will be sent for a while.
    init(
        open: @escaping @Sendable (_ isUnderWay: Bool) async -> Bool,
        onUnprocessed: @escaping @Sendable () -> Void = {},
        onBackoff: @escaping @Sendable () -> Void = {}
    ) {
        self.open = open
        noteUnprocessed = onUnprocessed
        noteBackoff = onBackoff
    }

    /// Passes if the request may be sent.
    ///
    /// - Parameter isHedge: whether another attempt is on the wire.
    /// - Throws: ``ConnectionError`` `cancelled` if the task is canceled, or if the request may not be sent. In the
    ///   second case ``hasRefused`` becomes `true`, except for a hedge.
    func pass(isHedge: Bool = false) async throws(ConnectionError) {
        guard !Task.isCancelled else { throw .cancelled }
        let isOpen = await open(isHedge || isBehindRedirect)
        // The cancellation may have ended `open` early.
        if !isOpen, Task.isCancelled { throw .cancelled }
        guard isOpen else {
            // A refused hedge leaves the first attempt on its way.
            if !isHedge { state.withLock { $0.hasRefused = true } }
            throw ConnectionError(.cancelled, "another process sends the request, or it must not be sent now")
        }
    }

    /// Notes that a server has answered with a redirect. It may have acted on the request, whatever happens on the next
    /// hop.
    func noteRedirect() { state.withLock { $0.isBehindRedirect = true } }

    /// Whether the gate, and not a cancellation, has ended the request.
    var hasRefused: Bool { state.withLock { $0.hasRefused } }

    var isBehindRedirect: Bool { state.withLock { $0.isBehindRedirect } }
}
