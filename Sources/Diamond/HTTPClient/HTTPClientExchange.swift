#if AsyncHTTPClient
import AsyncHTTPClient
import Foundation
import NIOCore

/// One exchange over async-http-client.
///
/// `@unchecked Sendable`: `reception`, `pipe` and `exchanges` guard themselves; everything that changes is touched on
/// `loop` alone, where async-http-client calls its delegate.
final class HTTPClientExchange: @unchecked Sendable {
    let request: TransportRequest
    let reception = Reception()
    let pipe = BodyPipe()
    let loop: any EventLoop
    let exchanges: HTTPClientExchanges
    private let owner: HTTPClientOwner
    private let setup: HTTPClientSetup

    // The loop's.
    private(set) var task: HTTPClient.Task<Void>?
    var upload: HTTPClientUpload?
    /// Kept while the consumer holds the body back.
    var demand: EventLoopPromise<Void>?
    private(set) var isHeadHere = false
    /// Whether a response has come that may be a redirect the client follows.
    var isRedirected = false
    /// Whether the method or the status says that there is no body (RFC 9110 section 6.4.1).
    private(set) var isBodyless = false
    /// `nil` where the transport removes no coding.
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

    /// Ends the caller's wait on the event loop, which knows whether the request was sent. The task is canceled
    /// afterwards.
    func cancel() {
        let isOnItsWay = exchanges.run(on: loop) { [self] in
            reception.cancel()
            fail(.cancelled(requestMayHaveBeenSent: reception.isSent))
        }
        if !isOnItsWay { reception.cancel() }
    }

    // MARK: The loop's side

    func start() {
        guard !reception.isOver else { return exchanges.remove(self) }
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
            // A client that was shut down tells its delegate nothing.
            task.futureResult.whenFailure { [self] error in
                if task === self.task { end(HTTPClientFailure.error(error, self)) }
            }
        } catch {
            fail(HTTPClientFailure.error(error, self))
        }
    }

    func close() { fail(HTTPClientFailure.closed(isSent: reception.isSent)) }

    /// Ends the exchange and cancels its task.
    func fail(_ error: TransportError) {
        let task = task
        end(error)
        // Not at once: async-http-client may be in the middle of telling something.
        exchanges.run(on: loop) { task?.cancel() }
    }

    func end(_ error: TransportError?) {
        exchanges.remove(self)
        guard !isOver else { return }
        isOver = true
        pipe.finish(error)
        let reason = "the server sent no response: try again, or check that it speaks HTTP"
        let missing = TransportError(.badResponse, reason, requestMayHaveBeenSent: true)
        reception.resolve(.failure(error ?? missing))
        letGo()
    }

    private func letGo() {
        timer?.cancel()
        connectTimer?.cancel()
        upload?.stop()
        demand?.succeed()
        (task, upload, demand, timer, connectTimer) = (nil, nil, nil, nil, nil)
    }

    func take(_ head: HTTPClientHead) {
        var fields = head.fields
        isBodyless = !request.mayHaveBody(status: head.status)
        guard isBodyless || !fields.hasUnaskedTransferCoding else { return fail(HTTPClientFailure.transferCoding) }
        if setup.isDecoded, let decoder = ContentDecoder(fields, of: request) {
            if !isBodyless { self.decoder = decoder }
            fields = fields.withoutCoding
        } else if setup.isDecodedByClient, head.isCodedForClient {
            fields = fields.withoutCoding
        }
        guard let response = head.response(fields, with: pipe) else { return fail(HTTPClientFailure.noStatus) }
        isHeadHere = true
        reception.resolve(.success(response))
    }

    /// Sends the request once more where that does no harm: its connection may have been kept too long.
    func repeatIfAllowed() -> Bool {
        guard !isOver, !isHeadHere, !hasBeenRepeated, request.isRepeatable else { return false }
        hasBeenRepeated = true
        upload?.stop()
        upload = nil
        execute()
        return true
    }

    // MARK: Time

    func advance() { lastProgress = .now() }

    /// Whether the exchange waits for its consumer or its upload, so that no timeout applies.
    private var isHeldBack: Bool { demand != nil || upload?.isHeldBack == true }

    /// Ends the exchange when nothing has moved for the timeout.
    private func watch() {
        guard let timeout = request.timeout, !isOver else { return }
        let due = (isHeldBack ? .now() : lastProgress) + TimeAmount(timeout)
        guard due > .now() else { return fail(HTTPClientFailure.timedOut(self)) }
        timer = loop.scheduleTask(deadline: due) { [self] in watch() }
    }

    private func watchConnecting() {
        guard let limit = request.connectTimeout else { return }
        connectTimer = loop.scheduleTask(in: TimeAmount(limit)) { [self] in
            guard !reception.isSent, !isOver else { return }
            fail(HTTPClientFailure.notConnected(self))
        }
    }

    private func resume() {
        exchanges.run(on: loop) { [self] in
            advance()
            demand?.succeed()
            demand = nil
        }
    }
}
#endif
