#if AsyncHTTPClient
import DiamondSQLite
import NIOCore

/// The running exchanges, and the way to the event loops while there are any.
final class HTTPClientExchanges: Sendable {
    private struct State {
        var running: [ObjectIdentifier: HTTPClientExchange] = [:]
        var isClosed = false
        var isGone = false
    }

    private let state = Guarded(State())

    /// Starts an exchange on its event loop, or ends it where the transport is closed.
    func start(_ exchange: HTTPClientExchange) {
        let isClosed = state.withLock { state in
            guard !state.isClosed else { return true }
            state.running[ObjectIdentifier(exchange)] = exchange
            exchange.loop.execute { exchange.start() }
            return false
        }
        if isClosed { exchange.reception.resolve(.failure(HTTPClientFailure.closed(isSent: false))) }
    }

    func remove(_ exchange: HTTPClientExchange) {
        _ = state.withLock { $0.running.removeValue(forKey: ObjectIdentifier(exchange)) }
    }

    /// Ends all; later ones are not started.
    func close() {
        let running = state.withLock { state in
            state.isClosed = true
            return state.running.values
        }
        for exchange in running { run(on: exchange.loop) { exchange.close() } }
    }

    /// Does this on the event loop; `false` when it is gone. Under the lock, because a loop that is shut down in between
    /// would drop it.
    @discardableResult
    func run(on loop: any EventLoop, _ work: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard !state.isGone else { return false }
            loop.execute(work)
            return true
        }
    }

    /// The event loops are about to be shut down.
    func leave() { state.withLock { $0.isGone = true } }
}
#endif
