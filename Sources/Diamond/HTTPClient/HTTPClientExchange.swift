#if AsyncHTTPClient
import AsyncHTTPClient
import Foundation
import NIOCore

/// An exchange over async-http-client.
///
/// `@unchecked Sendable`: `pendingResponse`, `pipe` and `exchanges` guard themselves. The mutable state is used on
/// `loop` only, where async-http-client calls its delegate.
final class HTTPClientExchange: @unchecked Sendable {
    let request: TransportRequest
    let pendingResponse = PendingResponse()
    let pipe = BodyPipe()
    let loop: any EventLoop
    let exchanges: HTTPClientExchanges
    private let owner: HTTPClientOwner
    private let setup: HTTPClientSetup

    // Used on `loop` only.
    private(set) var task: HTTPClient.Task<Void>?
    var upload: HTTPClientUpload?
    /// The promise that lets async-http-client read on; set while the consumer holds the body back.
    var readPromise: EventLoopPromise<Void>?
    private(set) var hasHead = false
    /// Whether a response has come that may be a redirect the client follows.
    var isRedirected = false
    /// Whether the method or the status says that there is no body (RFC 9110 section 6.4.1).
    private(set) var isBodyless = false
    /// The decoder of the body; `nil` if the transport removes no coding.
    private(set) var decoder: ContentDecoder?
    private(set) var isOver = false
    private var hasBeenRepeated = false
    private var lastProgress = NIODeadline.now()
    private var timer: Scheduled<Void>?
    private var connectTimer: Scheduled<Void>?

    init(_ request: TransportRequest, owner: HTTPClientOwner, exchanges: HTTPClientExchanges) {
        self.request = request
        self.owner = owner
        self.exchanges = exchanges
        setup = HTTPClientSetup(request, owner: owner)
        loop = owner.loop()
    }

    // MARK: The caller's side

    /// Ends the caller's wait, on the event loop: only there it is certain whether the request was sent. The task is
    /// canceled afterwards.
    func cancel() {
        let isScheduled = exchanges.run(on: loop) { [self] in
            pendingResponse.cancel()
            fail(.cancelled(serverMayHaveActed: pendingResponse.isSent))
        }
        if !isScheduled { pendingResponse.cancel() }
    }

    // MARK: The loop's side

    func start() {
        guard !pendingResponse.isOver else { return exchanges.remove(self) }
        pipe.connect(
            onResume: { [weak self] in self?.resume() },
            onStop: { [weak self] in self?.cancel() }
        )
        watchConnecting()
        watch()
        execute()
    }

    private func execute() {
        do {
            let message = try setup.message { [self] in send($0) }
            let task = owner.client.execute(request: message, delegate: self, eventLoop: .delegate(on: loop))
            self.task = task
            // A client that was shut down does not call its delegate.
            task.futureResult.whenFailure { [self] error in
                if task === self.task { end(HTTPClientFailure.error(error, exchange: self)) }
            }
        } catch {
            fail(HTTPClientFailure.error(error, exchange: self))
        }
    }

    func close() { fail(.closed(serverMayHaveActed: pendingResponse.isSent)) }

    /// Ends the exchange and cancels its task.
    func fail(_ error: TransportError) {
        let task = task
        end(error)
        // Not at once, because async-http-client may be in the middle of a callback.
        exchanges.run(on: loop) { task?.cancel() }
    }

    func end(_ error: TransportError?) {
        exchanges.remove(self)
        guard !isOver else { return }
        isOver = true
        pipe.finish(error)
        pendingResponse.resolve(.failure(error ?? .noResponse))
        releaseResources()
    }

    private func releaseResources() {
        timer?.cancel()
        connectTimer?.cancel()
        upload?.stop()
        readPromise?.succeed()
        task = nil
        upload = nil
        readPromise = nil
        timer = nil
        connectTimer = nil
    }

    func receive(_ head: HTTPClientHead) {
        guard var fields = head.fields else {
            return fail(.badResponse("the server sent a field with an invalid name"))
        }
        isBodyless = !request.mayHaveBody(status: head.status)
        guard isBodyless || !fields.hasUnrequestedTransferCoding else {
            return fail(.badResponse("the server sent a transfer coding that was not requested"))
        }
        if setup.isDecoded, let decoder = ContentDecoder(fields, of: request) {
            if !isBodyless { self.decoder = decoder }
            fields = fields.withoutCoding
        } else if setup.isDecodedByClient, head.isCodedForClient {
            fields = fields.withoutCoding
        }
        guard let response = head.response(headers: fields, body: pipe) else {
            return fail(.badResponse("the server sent no valid status"))
        }
        hasHead = true
        pendingResponse.resolve(.success(response))
    }

    /// Sends the request once more if nothing of it was sent, or if it may be repeated and no head has come: the server
    /// may have closed a reused connection.
    func repeatIfAllowed() -> Bool {
        guard !isOver, !hasHead, !hasBeenRepeated else { return false }
        guard request.isRepeatable || upload == nil && !pendingResponse.isSent else { return false }
        hasBeenRepeated = true
        upload?.stop()
        upload = nil
        execute()
        return true
    }

    // MARK: Time

    func recordProgress() { lastProgress = .now() }

    /// Whether the exchange waits for its consumer or its upload, so that no timeout applies.
    private var isHeldBack: Bool { readPromise != nil || upload?.isHeldBack == true }

    /// Ends the exchange after the timeout without progress.
    private func watch() {
        guard let timeout = request.timeout, !isOver else { return }
        let deadline = (isHeldBack ? .now() : lastProgress) + TimeAmount(timeout)
        guard deadline > .now() else { return fail(HTTPClientFailure.timedOut(self)) }
        timer = loop.scheduleTask(deadline: deadline) { [self] in watch() }
    }

    private func watchConnecting() {
        guard let limit = request.connectTimeout else { return }
        connectTimer = loop.scheduleTask(in: TimeAmount(limit)) { [self] in
            guard !pendingResponse.isSent, !isOver else { return }
            fail(HTTPClientFailure.timedOut(self))
        }
    }

    private func resume() {
        exchanges.run(on: loop) { [self] in
            recordProgress()
            readPromise?.succeed()
            readPromise = nil
        }
    }
}
#endif
