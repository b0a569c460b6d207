import Foundation
import HTTPTypes

/// Sends the request of one attempt, and receives its response: a whole one, or the rest of a partial response.
///
/// It is a class so that each step of an attempt stores only a reference.
final class Transfer: Sendable {
    enum End: Sendable {
        /// A whole response was received.
        ///
        /// - Parameter answered: the server's own status: 206 or 416 if it completes a partial response.
        case received(ReceivedResponse, answered: HTTPResponse.Status)
        /// The partial response cannot be resumed, and the server's response is of no use to the caller. The whole has
        /// to be requested.
        case refused(HTTPResponse.Status, HTTPFields)
        /// The attempt failed.
        ///
        /// - Parameter head: the head of the response, if it was received before the failure. It is valid without the
        ///   body.
        case failed(TransportError, head: IndirectOptional<ReceivedResponse> = .none)
    }

    struct Completion: Sendable {
        var end: End
        /// The partial response that the next attempt can resume.
        var partialResponse = IndirectOptional<PartialResponse>.none
    }

    /// The request of the attempt, as cookies and interceptors have changed it.
    let request: TransportRequest
    /// The state of the exchange before the attempt.
    let loop: RetryLoop
    /// The number of the attempt.
    let number: Int
    let recorder: (any BodyRecording)?
    let admission: CircuitBreaker.Admission
    let meter: TransferMeter

    /// - Parameter isHedge: whether another attempt is on the wire. Then nothing is recorded.
    init(
        _ request: TransportRequest,
        of loop: RetryLoop,
        number: Int,
        isHedge: Bool,
        admission: CircuitBreaker.Admission
    ) {
        self.request = request
        self.loop = loop
        self.number = number
        self.admission = admission
        recorder = isHedge ? nil : loop.exchange.recorder
        meter = TransferMeter(request, clock: loop.retryCoordinator.clock)
    }

    var exchange: Exchange { loop.exchange }
    var environment: ExchangeEnvironment { exchange.environment }
    /// The partial response that is resumed.
    private var resumed: IndirectOptional<PartialResponse> { loop.partialResponse }

    /// Sends the request, and receives its response.
    ///
    /// - Parameters:
    ///   - sentAt: the current time.
    ///   - headLimit: the limit for the time until the head is received; `nil` for none.
    func completion(sentAt: WallTime, headLimit: ExchangeAttempt.Limit? = nil) async -> Completion {
        do throws(TransportError) {
            let response =
                if let headLimit { try await response(within: headLimit) } else {
                    try await environment.transport.send(meter.measured(request))
                }
            var head = head(of: response, sentAt: sentAt)
            // Most bodies arrive together with the head, so that the transfer cannot break any more.
            if case .none = resumed, let body = arrivedBody(response.body, head: head) {
                head.body = body
                return Completion(end: .received(head, answered: head.status))
            }
            return await receive(response.body, head: head)
        } catch {
            return Completion(end: .failed(error), partialResponse: resumed)
        }
    }

    /// Returns the response, whose body may still be on the way.
    @inline(never)
    private func response(within limit: ExchangeAttempt.Limit) async throws(TransportError) -> TransportResponse {
        let (result, isLate) = await environment.retryCoordinator.clock.limit(limit.rest).canceling {
            await Result { [self] () async throws(TransportError) in
                try await environment.transport.send(meter.measured(request))
            }
        }
        guard isLate else { return try result.get() }
        // A head that is received at the limit does not count: its body is canceled already.
        do throws(TransportError) { _ = try result.get() } catch {
            throw error.code == .cancelled ? TransportError(late: error, limit) : error
        }
        throw TransportError(late: .cancelled(serverMayHaveActed: true), limit)
    }

    // Not inlined, because it does not wait: see ``Pipeline``.
    @inline(never)
    private func head(of response: TransportResponse, sentAt: WallTime) -> ReceivedResponse {
        meter.receiveHead(response, to: request)
        reportCoding(of: response)
        if let removals = request.adaptation.removals {
            environment.cookies?.receive(
                response.headers, from: request.url, of: exchange.identity, since: removals, at: environment.date)
        }
        var head = ReceivedResponse(
            status: response.status, headers: response.headers, body: Data(), sentAt: sentAt,
            receivedAt: environment.now(), isPersonal: request.adaptation.isPersonal,
            adaptedHeaders: request.adaptation.headers, isInSink: exchange.isForSink(response.status))
        if ProblemDetails.isType(of: response.headers) { head.secrets = .some(sentSecrets) }
        return head
    }

    private var sentSecrets: SecretValues {
        var body: Data?
        if case .bytes(let bytes) = request.body { body = bytes }
        return SecretValues(
            headers: request.headers, url: request.url, body: body, known: request.filledSecrets,
            rules: exchange.rules)
    }

    private func reportCoding(of response: TransportResponse) {
        guard exchange.activity.isObserved, request.namesNoCoding,
            request.mayHaveBody(status: response.status.code),
            let coding = response.headers[.contentEncoding]
        else { return }
        exchange.activity.report(.unknownContentCoding(coding.printable, origin: exchange.origin))
    }

    @inline(never)
    private func receive(_ body: BodyStream, head: ReceivedResponse) async -> Completion {
        guard let resumed = resumed.value else { return await receiveNew(body, head: head) }
        switch ResumeDecision(for: resumed.content, status: head.status.code, headers: head.headers) {
        case .append:
            exchange.activity.report(
                .transferResumed(
                    origin: exchange.origin, offset: Int64(resumed.content.received.upperBound),
                    total: Int64(resumed.content.completeLength)))
            return await receiveParts(of: resumed.continued(by: head), body: body, head: head)
        case .complete: return Completion(end: .received(resumed.completed(by: head), answered: head.status))
        case .keep: return await receiveAll(body, head: head, leaving: self.resumed)
        case .replace:
            await recorder?.discard()
            return await receiveNew(body, head: head)
        case .restart:
            await recorder?.discard()
            return Completion(end: .refused(head.status, head.headers))
        case .contradict:
            await recorder?.discard()
            return Completion(end: .failed(Self.contradiction, head: .some(head)))
        }
    }

    private static let contradiction = TransportError(
        .badResponse,
        "the server answered a request for the rest with status 200 and a Content-Range: request the whole again",
        serverMayHaveActed: true)

    private func receiveNew(_ body: BodyStream, head: ReceivedResponse) async -> Completion {
        do throws(TransportError) { try await open(head) } catch {
            return Completion(end: .failed(error, head: .some(head)))
        }
        if let data = arrivedBody(body, head: head) {
            var received = head
            received.body = data
            return Completion(end: .received(received, answered: head.status))
        }
        guard exchange.isContinuable, let partial = PartialResponse(head) else {
            return await receiveAll(body, head: head)
        }
        return await receiveParts(of: partial, body: body, head: head)
    }

    /// Returns the body if all of it has arrived.
    @inline(never)
    private func arrivedBody(_ body: BodyStream, head: ReceivedResponse) -> Data? {
        let limit = limit(of: head)
        guard !head.isInSink, meter.progress.expectedToReceive ?? 0 <= limit, let data = body.arrivedBody(upTo: limit)
        else { return nil }
        meter.receive(data.count)
        return data
    }

    private func receiveAll(
        _ body: BodyStream,
        head: ReceivedResponse,
        leaving partialResponse: IndirectOptional<PartialResponse> = .none
    ) async -> Completion {
        var received = head
        do throws(TransportError) {
            if head.isInSink {
                try await write(body)
            } else {
                let limit = limit(of: head)
                try check(meter.progress.expectedToReceive ?? 0, limit: limit)
                received.body = try await body.collect(limit: limit) { [meter] in meter.receive($0) }
            }
            return Completion(end: .received(received, answered: head.status), partialResponse: partialResponse)
        } catch {
            return Completion(end: .failed(error, head: .some(head)), partialResponse: partialResponse)
        }
    }

    /// Returns the maximum number of bytes of a body.
    func limit(of head: ReceivedResponse) -> Int {
        let limit = exchange.bodyLimit
        guard let sink = exchange.sink else { return limit }
        return head.isInSink ? sink.limit : min(limit, Self.nonSuccessBodyLimit)
    }

    /// Checks a count of bytes, received or announced, against a limit.
    func check(_ count: Int64, limit: Int) throws(TransportError) {
        guard count <= Int64(limit) else { throw TransportError(bodyLargerThan: limit) }
    }

    // MARK: Resumable responses

    private func receiveParts(
        of partial: PartialResponse,
        body: BodyStream,
        head: ReceivedResponse
    ) async -> Completion {
        var partial = partial
        meter.expect(partial.content.completeLength)
        do throws(TransportError) {
            try check(Int64(partial.content.completeLength), limit: limit(of: partial.received))
            await recorder?.begin(partial)
            try await receive(body, into: &partial)
        } catch {
            // A body that exceeds its limit would do so again. Bytes that a sink has refused leave a gap.
            let isResumable = ![.bodyTooLarge, .destinationFailed].contains(error.code) && partial.isWorthSaving
            if !isResumable { await recorder?.discard() }
            return Completion(
                end: .failed(error, head: .some(head)), partialResponse: isResumable ? .some(partial) : .none)
        }
        return await end(of: partial, head: head)
    }

    private func receive(_ body: BodyStream, into partial: inout PartialResponse) async throws(TransportError) {
        var pieces = body.makeAsyncIterator()
        while let piece = try await pieces.next() {
            partial.append(piece)
            let count = partial.content.received.count
            meter.receive(count)
            try check(Int64(count), limit: limit(of: partial.received))
            if partial.received.isInSink { try await exchange.sink?.append(piece) }
            await recorder?.append(piece)
        }
    }

    // A transport may not notice that a 206 without `Content-Length` ended early. The number of received bytes is
    // therefore compared with the complete length, which is known from the first response.
    private func end(of partial: PartialResponse, head: ReceivedResponse) async -> Completion {
        let missing = partial.content.missingCount
        guard head.status == .partialContent, missing != 0 else {
            return Completion(end: .received(partial.received, answered: head.status))
        }
        guard missing > 0 else {
            await recorder?.discard()
            return Completion(end: .refused(head.status, partial.received.headers))
        }
        let message = "the rest of the body ended \(missing) bytes early: try again"
        let error = TransportError(.truncatedBody, message, serverMayHaveActed: true)
        return Completion(end: .failed(error, head: .some(head)), partialResponse: .some(partial))
    }
}
