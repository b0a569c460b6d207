#if AsyncHTTPClient
import DiamondSQLite
import NIOCore

/// The running exchanges, and access to the event loops until they are shut down.
final class HTTPClientExchanges: Sendable {
    private struct State {
        var running: [ObjectIdentifier: HTTPClientExchange] = [:]
        var isClosed = false
        var areLoopsShutDown = false
    }

    private let state = Guarded(State())

    /// Starts an exchange on its event loop, or ends it if the transport is closed.
    func start(_ exchange: HTTPClientExchange) {
        let isClosed = state.withLock { state in
            guard !state.isClosed else { return true }
            state.running[ObjectIdentifier(exchange)] = exchange
            exchange.loop.execute { exchange.start() }
            return false
        }
        if isClosed { exchange.pendingResponse.resolve(.failure(.closed(serverMayHaveActed: false))) }
    }

    func remove(_ exchange: HTTPClientExchange) {
        _ = state.withLock { $0.running.removeValue(forKey: ObjectIdentifier(exchange)) }
    }

    /// Ends all exchanges. Later ones are not started.
    func close() {
        let running = state.withLock { state in
            state.isClosed = true
            return state.running.values
        }
        for exchange in running { run(on: exchange.loop) { exchange.close() } }
    }

    /// Runs work on an event loop. The lock is held, so that the loop is not shut down before it has the work.
    ///
    /// - Returns: `false` if the loops are shut down.
    @discardableResult
    func run(on loop: any EventLoop, _ work: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard !state.areLoopsShutDown else { return false }
            loop.execute(work)
            return true
        }
    }

    /// Prevents later work. It is called before the event loops are shut down.
    func stopUsingLoops() { state.withLock { $0.areLoopsShutDown = true } }
}
#endif
