import DiamondSQLite
import Dispatch
import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An exchange over URLSession.
final class URLSessionExchange: Sendable {
    let pendingResponse = PendingResponse()
    private let pipe = BodyPipe()
    private let request: TransportRequest
    private let progress = Guarded(URLSessionProgress())
    private let control: DispatchQueue

    /// - Parameter control: the queue on which the task is suspended, resumed and canceled.
    init(_ request: TransportRequest, control: DispatchQueue) {
        self.request = request
        self.control = control
    }

    // MARK: The caller's side

    /// Starts the task. It is called on `control`.
    func begin(_ task: URLSessionDataTask) {
        progress.withLock { $0.begin(task) }
        pipe.connect(
            onResume: { [weak self] in self?.updateSuspension() },
            onStop: { [weak self] in self?.cancelTask() }
        )
        guard pendingResponse.beginSending() else { return cancelTask() }
        task.resume()
    }

    /// Ends the caller's wait at once. The task ends later.
    func cancel() {
        pendingResponse.cancel()
        // The caller may have just received the head. Then this cancels the body.
        pipe.finish(.cancelled(serverMayHaveActed: true))
        cancelTask()
    }

    private func fail(_ code: TransportError.Code, message: String) {
        fail(TransportError(code, message, serverMayHaveActed: pendingResponse.isSent))
    }

    func fail(_ error: TransportError) {
        let task = progress.withLock { $0.task }
        // Ended before the task is canceled, because the session reports the cancellation, too.
        end(error)
        control.async { task?.cancel() }
    }

    private func cancelTask() {
        let task = progress.withLock { $0.task }
        control.async { task?.cancel() }
    }

    #if canImport(FoundationNetworking)
    // Foundation on Linux resumes a suspended task by sending its request again, and appends the new response to the
    // old one. So no task is suspended.
    private func updateSuspension() {}
    #else
    // Decided on one queue, so that the task ends in the latest state even if pauses and resumptions cross.
    private func updateSuspension() {
        control.async { [self] in
            let isFull = pipe.isFull
            let task = progress.withLock { $0.setSuspended(isFull) }
            if isFull { task?.suspend() } else { task?.resume() }
        }
    }
    #endif

    // MARK: The session's side

    func receive(_ response: HTTPURLResponse) {
        let isInterim = (100..<200).contains(response.statusCode)
        guard response.statusCode != 101 else {
            return fail(.badResponse, message: "the server switched to another protocol")
        }
        guard !isInterim else { return }
        guard let head = URLSessionResponse.head(of: response) else {
            return fail(.badResponse("the server sent a field with an invalid name"))
        }
        let hasBody = request.mayHaveBody(status: response.statusCode)
        let length = hasBody ? head.headers[.contentLength].flatMap { Int64($0) } : nil
        guard progress.withLock({ $0.receiveHead(expecting: length) }) else { return }
        if hasBody, let refusal = URLSessionResponse.refusal(of: response, headers: head.headers) {
            return fail(refusal)
        }
        let body = BodyStream(pipe)
        pendingResponse.resolve(.success(TransportResponse(status: head.status, headers: head.headers, body: body)))
    }

    func receive(_ data: Data) {
        let demand = pipe.yield(data)
        progress.withLock { $0.receive(data) }
        if demand == .pause { updateSuspension() }
    }

    func complete(_ error: (any Error)?) {
        end(progress.withLock { $0.truncation(after: error) } ?? error.map(URLSessionResponse.failure))
    }

    private func end(_ error: TransportError?) {
        pipe.finish(error)
        pendingResponse.resolve(.failure(error ?? .noResponse))
        progress.withLock { $0.end() }
    }

    // MARK: Time

    /// Ends the exchange after the timeout without progress. The caller begins the watch, because Foundation may delay
    /// the beginning of a task.
    func watch() {
        guard let timeout = request.timeout, let deadline = progress.withLock({ $0.deadline(after: timeout) })
        else { return }
        guard deadline > .now else {
            let isInHead = pendingResponse.isSent && !pendingResponse.isOver
            return fail(.timedOut, message: HeadLimit.timeoutMessage(timeout, isInHead: isInHead))
        }
        let delay = DispatchTimeInterval.milliseconds(
            Int(clamping: min((deadline - .now).milliseconds, 86_400_000)) + 1)
        DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in self?.watch() }
    }
}
