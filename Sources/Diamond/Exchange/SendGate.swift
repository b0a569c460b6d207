import DiamondSQLite

/// Asked before the first byte of a request leaves: what waits for its place on the wire may meanwhile be somebody else's.
final class SendGate: Sendable {
    private let open: @Sendable (_ isUnderWay: Bool) async -> Bool
    private let back: @Sendable () -> Void
    private let pause: @Sendable () -> Void
    private let redirected = Guarded(false)

    /// - Parameters:
    ///   - open: whether it may leave; always, if nothing is said. It is told whether that goes on with what has left
    ///     already.
    ///   - takeBack: is told where what has left last surely was not processed.
    ///   - rest: is told where nothing leaves for a while.
    init(
        open: @escaping @Sendable (_ isUnderWay: Bool) async -> Bool = { _ in true },
        takeBack: @escaping @Sendable () -> Void = {},
        rest: @escaping @Sendable () -> Void = {}
    ) {
        (self.open, back, pause) = (open, takeBack, rest)
    }

    /// - Parameter isBeside: whether another attempt is on the wire.
    func pass(isBeside: Bool = false) async throws(ConnectionError) {
        // One that was paused goes on elsewhere.
        guard !Task.isCancelled else { throw .cancelled }
        guard await open(isBeside || isBehindRedirect) else {
            // What is asked there may end with the task, and says nothing against it then.
            guard !Task.isCancelled else { throw .cancelled }
            throw ConnectionError(.held, "the request is sent by somebody else, or may not be sent now")
        }
    }

    /// What has left last surely was not processed.
    func takeBack() { back() }

    /// Nothing leaves for a while: the next attempt waits for its time.
    func rest() { pause() }

    /// A server has answered with a redirect, which is followed or leads nowhere: it may have acted, whatever comes of that.
    func noteRedirect() { redirected.withLock { $0 = true } }

    var isBehindRedirect: Bool { redirected.withLock { $0 } }
}
