import DiamondSQLite
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The session's delegate: leads what the session tells to the exchange it is about.
///
/// `@unchecked Sendable`: all state is in `state`, a ``Guarded`` value.
final class URLSessionExchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct State {
        var running: [Int: URLSessionExchange] = [:]
        var isClosed = false
    }

    private let state = Guarded(State())

    /// `false` when the transport is closed: a task of an invalid session would crash.
    func start(_ exchange: URLSessionExchange, _ request: URLRequest, on session: URLSession) -> Bool {
        let task = state.withLock { state -> URLSessionDataTask? in
            guard !state.isClosed else { return nil }
            let task = session.dataTask(with: request)
            state.running[task.taskIdentifier] = exchange
            return task
        }
        guard let task else { return false }
        exchange.begin(task)
        return true
    }

    func close() {
        let running = state.withLock { state in
            state.isClosed = true
            return state.running.values
        }
        for exchange in running { exchange.cancel(.closed, "the transport was closed: make a new engine") }
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
