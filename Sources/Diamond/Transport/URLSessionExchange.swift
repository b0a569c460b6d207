import DiamondSQLite
import Dispatch
import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One exchange over URLSession.
///
/// `@unchecked Sendable`: all state is in `state` and `pipe`, which guard themselves.
final class URLSessionExchange: @unchecked Sendable {
    typealias Outcome = Result<TransportResponse, TransportError>
    typealias Waiter = CheckedContinuation<Outcome, Never>

    fileprivate struct State {
        var waiter: Waiter?
        var task: URLSessionDataTask?
        var failure: TransportError?
        var expectedLength: Int64?
        var receivedLength: Int64 = 0
        var lastProgress = ContinuousClock.now
        var isHeldBack = false
    }

    private let pipe = BodyPipe()
    private let timeout: Duration?
    private let state = Guarded(State())

    init(_ request: TransportRequest) {
        timeout = [request.timeout, request.connectTimeout].compactMap { $0 }.min()
    }

    func expect(_ waiter: Waiter) -> Bool {
        let failure = state.withLock { state in
            if state.failure == nil { state.waiter = waiter }
            return state.failure
        }
        if let failure { waiter.resume(returning: .failure(failure)) }
        return failure == nil
    }

    func begin(_ task: URLSessionDataTask) {
        let isDead = state.withLock { state in
            state.task = task
            state.lastProgress = .now
            return state.failure != nil
        }
        pipe.connect(
            onResume: { [weak self] in self?.release() },
            onStop: { [weak self] in self?.cancel(.cancelled, "the exchange was given up") }
        )
        guard !isDead else { return Self.cancel(task) }
        task.resume()
        watch()
    }

    // Foundation's cancel waits for a queue that may be waiting for the caller's lock: it is never called directly.
    private static func cancel(_ task: URLSessionDataTask?) { DispatchQueue.global().async { task?.cancel() } }

    /// Frees the caller at once; the wire follows.
    func cancel(_ code: TransportError.Code, _ message: String) {
        let error = TransportError(code, message, requestMayHaveBeenSent: true)
        let task = state.withLock { state in
            state.failure = state.failure ?? error
            return state.task
        }
        end(error)
        Self.cancel(task)
    }

    private func release() {
        let task = state.withLock { state in
            state.isHeldBack = false
            state.lastProgress = .now
            return state.task
        }
        task?.resume()
    }

    // MARK: What the session tells

    func receive(_ response: HTTPURLResponse) {
        let head = URLSessionResponse.head(of: response)
        let waiter = state.withLock { state in
            state.lastProgress = .now
            state.expectedLength = head.headers[.contentLength].flatMap { Int64($0) }
            defer { state.waiter = nil }
            return state.waiter
        }
        let body = BodyStream(pipe)
        waiter?.resume(returning: .success(TransportResponse(status: head.status, headers: head.headers, body: body)))
    }

    func receive(_ data: Data) {
        let demand = pipe.yield(data)
        let task = state.withLock { state in
            state.lastProgress = .now
            state.receivedLength += Int64(data.count)
            state.isHeldBack = demand == .pause
            return state.task
        }
        if demand == .pause { task?.suspend() }
    }

    func complete(_ error: (any Error)?) {
        let known = state.withLock { state in state.failure ?? state.truncation(error) }
        end(known ?? error.map(URLSessionResponse.failure))
    }

    func end(_ error: TransportError?) {
        let waiter = state.withLock { state in
            defer { (state.waiter, state.task) = (nil, nil) }
            return state.waiter
        }
        pipe.finish(error)
        let missing = TransportError(.badResponse, "the server sent no response", requestMayHaveBeenSent: true)
        waiter?.resume(returning: .failure(error ?? missing))
    }

    // MARK: Time

    /// Looks again when nothing could have moved for the timeout.
    private func watch() {
        guard let timeout else { return }
        let due = state.withLock { state -> ContinuousClock.Instant? in
            guard state.task != nil else { return nil }
            return (state.isHeldBack ? .now : state.lastProgress) + timeout
        }
        guard let due else { return }
        guard due > .now else {
            return cancel(.timedOut, "nothing moved for \(timeout.milliseconds) ms: try again, or allow more time")
        }
        let delay = DispatchTimeInterval.milliseconds(Int((due - .now).milliseconds) + 1)
        DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in self?.watch() }
    }
}

extension URLSessionExchange.State {
    /// The body was promised longer than it came.
    fileprivate func truncation(_ error: (any Error)?) -> TransportError? {
        guard let expectedLength, receivedLength < expectedLength, error == nil || receivedLength > 0 else {
            return nil
        }
        return TransportError(
            .truncatedBody, "the body ended before its length: try again", requestMayHaveBeenSent: true)
    }
}
