import DiamondSQLite
import Dispatch
import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One exchange over URLSession.
final class URLSessionExchange: Sendable {
    let reception = Reception()
    private let pipe = BodyPipe()
    private let request: TransportRequest
    private let progress = Guarded(URLSessionProgress())
    private let control: DispatchQueue

    /// - Parameter control: where the task is suspended, resumed and canceled.
    init(_ request: TransportRequest, control: DispatchQueue) {
        (self.request, self.control) = (request, control)
    }

    // MARK: The caller's side

    /// Called on `control`.
    func begin(_ task: URLSessionDataTask) {
        progress.withLock { $0.begin(task) }
        pipe.connect(
            onResume: { [weak self] in self?.regulate() },
            onStop: { [weak self] in self?.cancelTask() }
        )
        guard reception.beginSending() else { return cancelTask() }
        task.resume()
    }

    /// Frees the caller at once; the wire follows.
    func cancel() {
        reception.cancel()
        // The head may have just been taken: then the body is what is canceled.
        pipe.finish(.cancelled(requestMayHaveBeenSent: true))
        cancelTask()
    }

    func fail(_ code: TransportError.Code, _ message: String) {
        fail(TransportError(code, message, requestMayHaveBeenSent: reception.isSent))
    }

    private func fail(_ error: TransportError) {
        let task = progress.withLock { $0.task }
        // Before the task is canceled, which the session tells as an end of its own.
        end(error)
        control.async { task?.cancel() }
    }

    private func cancelTask() {
        let task = progress.withLock { $0.task }
        control.async { task?.cancel() }
    }

    #if canImport(FoundationNetworking)
    // Foundation on Linux resumes a suspended task by sending its request again, and goes on with the new answer as if
    // it were the rest of the old one: nothing is ever held back.
    private func regulate() {}
    #else
    // Looked at on one queue, so that the last look counts, however pauses and resumptions cross.
    private func regulate() {
        control.async { [self] in
            let isFull = pipe.isFull
            let task = progress.withLock { $0.suspend(isFull) }
            if isFull { task?.suspend() } else { task?.resume() }
        }
    }
    #endif

    // MARK: What the session tells

    func receive(_ response: HTTPURLResponse) {
        let isInterim = (100..<200).contains(response.statusCode)
        guard response.statusCode != 101 else { return fail(.badResponse, "the server switched to another protocol") }
        guard !isInterim else { return }
        let head = URLSessionResponse.head(of: response)
        let hasBody = request.mayHaveBody(status: response.statusCode)
        let length = hasBody ? head.headers[.contentLength].flatMap { Int64($0) } : nil
        guard progress.withLock({ $0.receiveHead(expecting: length) }) else { return }
        if hasBody, let refusal = URLSessionResponse.refusal(of: response, head.headers) { return fail(refusal) }
        let body = BodyStream(pipe)
        reception.resolve(.success(TransportResponse(status: head.status, headers: head.headers, body: body)))
    }

    func receive(_ data: Data) {
        let demand = pipe.yield(data)
        progress.withLock { $0.receive(data) }
        if demand == .pause { regulate() }
    }

    func complete(_ error: (any Error)?) {
        end(progress.withLock { $0.truncation(error) } ?? error.map(URLSessionResponse.failure))
    }

    private func end(_ error: TransportError?) {
        let reason = "the server sent no response: try again, or check that it speaks HTTP"
        let missing = TransportError(.badResponse, reason, requestMayHaveBeenSent: true)
        pipe.finish(error)
        reception.resolve(.failure(error ?? missing))
        progress.withLock { $0.end() }
    }

    // MARK: Time

    /// Ends the exchange when nothing has moved for the timeout. Begun by the caller, because Foundation may make a task
    /// wait before it is begun.
    func watch() {
        guard let timeout = request.timeout, let due = progress.withLock({ $0.due(after: timeout) }) else { return }
        guard due > .now else {
            return fail(.timedOut, HeadLimit.standstill(timeout, isInHead: reception.isSent && !reception.isOver))
        }
        let delay = DispatchTimeInterval.milliseconds(Int(clamping: min((due - .now).milliseconds, 86_400_000)) + 1)
        DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in self?.watch() }
    }
}
