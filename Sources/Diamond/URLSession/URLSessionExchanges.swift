import DiamondSQLite
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The session's delegate, which passes each callback to its exchange.
///
/// `@unchecked Sendable`: all state is in `state`, a ``Guarded`` value.
final class URLSessionExchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct State {
        var running: [Int: URLSessionExchange] = [:]
        var isClosed = false
    }

    private let state = Guarded(State())

    /// Starts an exchange.
    ///
    /// It is called on the transport's queue. The session is invalidated there, too, so it is valid here: a task of an
    /// invalid session would crash. No lock is held while Foundation creates the task, which may take long.
    func start(_ exchange: URLSessionExchange, with request: URLRequest, on session: URLSession) {
        guard !isClosed else { return Self.close(exchange) }
        let task = session.dataTask(with: request)
        state.withLock { $0.running[task.taskIdentifier] = exchange }
        if isClosed { Self.close(exchange) }
        exchange.begin(task)
    }

    func close() {
        let running = state.withLock { state in
            state.isClosed = true
            return state.running.values
        }
        for exchange in running { Self.close(exchange) }
    }

    private var isClosed: Bool { state.withLock { $0.isClosed } }

    private static func close(_ exchange: URLSessionExchange) {
        exchange.fail(.closed(serverMayHaveActed: exchange.pendingResponse.isSent))
    }

    private func exchange(_ task: URLSessionTask) -> URLSessionExchange? {
        state.withLock { $0.running[task.taskIdentifier] }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse { exchange(dataTask)?.receive(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(dataTask)?.receive(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let exchange = state.withLock { $0.running.removeValue(forKey: task.taskIdentifier) }
        exchange?.complete(error)
    }
}
