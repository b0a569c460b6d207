import Foundation
import HTTPTypes

/// Sends the request of one attempt, and receives its response: a whole one, or the rest of a partial response.
///
/// A class, because an attempt hands it on from step to step.
final class Transfer: Sendable {
    enum End: Sendable {
        /// - Parameter answered: what the server said; 206 where the answer completes a partial response.
        // Indirect, because it goes back through every step, and most look at its status only.
        indirect case arrived(ReceivedResponse, answered: HTTPResponse.Status)
        /// The partial response cannot be resumed, and this is no answer by itself: the whole has to be requested.
        case refused(HTTPResponse.Status, HTTPFields)
        /// - Parameter head: of the answer, where it was here: what it says stands, whatever became of the body.
        case failed(TransportError, head: IndirectOptional<ReceivedResponse> = .none)
    }

    struct Outcome: Sendable {
        var end: End
        /// The partial response that the next attempt can resume.
        var left = IndirectOptional<PartialResponse>.none
    }

    /// The request that is sent: for the rest, where ``before`` has a partial response.
    let request: TransportRequest
    let order: ExchangeOptions
    /// The number of sessions that had ended when its cookies were read; `nil` without a jar.
    let removals: Int?
    let isPersonal: Bool
    private let adaptedHeaders: Set<String>
    /// The partial response that is resumed.
    let before: IndirectOptional<PartialResponse>
    let keeper: (any ResumeWriting)?
    /// The attempts that have led to this transfer.
    let history: RetryHistory
    let admission: CircuitBreaker.Admission
    let wire: Exchange.Wire
    let meter: TransferMeter

    /// - Parameter outgoing: the order's request, or one for the rest.
    init(
        _ outgoing: ExchangeOptions.AdaptedRequest,
        of order: ExchangeOptions,
        removals: Int?,
        before: IndirectOptional<PartialResponse>,
        keeper: (any ResumeWriting)?,
        history: RetryHistory,
        admission: CircuitBreaker.Admission,
        over wire: Exchange.Wire
    ) {
        (request, isPersonal, adaptedHeaders) = (outgoing.request, outgoing.isPersonal, outgoing.adaptedHeaders)
        self.removals = removals
        (self.before, self.keeper, self.history, self.admission) = (before, keeper, history, admission)
        (self.order, self.wire) = (order, wire)
        meter = TransferMeter(request)
    }

    /// - Parameter headLimit: how long the head may take; `nil` forever.
    func outcome(headLimit: ExchangeAttempt.Limit? = nil) async -> Outcome {
        let sentAt = wire.now()
        do throws(TransportError) {
            let response = try await response(within: headLimit)
            let head = head(of: response, sentAt)
            // Most are here to their ends with their heads: nothing of them can break any more.
            if let whole = wholeAnswer(head, response.body) { return whole }
            return await receive(head, response.body)
        } catch {
            return Outcome(end: .failed(error), left: before)
        }
    }

    private func head(of response: TransportResponse, _ sentAt: Int64) -> ReceivedResponse {
        meter.arrive(response, to: request)
        reportCoding(of: response)
        if let removals {
            wire.cookies?.receive(
                response.headers, from: request.url, of: order.identity, since: removals, at: wire.date)
        }
        return ReceivedResponse(
            status: response.status, headers: response.headers, body: Data(), sentAt: sentAt, receivedAt: wire.now(),
            isPersonal: isPersonal, adaptedHeaders: adaptedHeaders, isPoured: isPoured(response.status))
    }

    private func reportCoding(of response: TransportResponse) {
        guard order.scope.activity.isObserved, request.asksForNoCoding,
            request.mayHaveBody(status: response.status.code),
            let coding = response.headers[.contentEncoding]
        else { return }
        order.scope.activity.report(.unknownContentCoding(coding.printable, origin: order.origin))
    }

    private func wholeAnswer(_ head: ReceivedResponse, _ body: BodyStream) -> Outcome? {
        guard case .none = before else { return nil }
        return whole(head, body).map { Outcome(end: .arrived($0, answered: head.status)) }
    }

    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    private func receive(_ head: ReceivedResponse, _ body: BodyStream) async -> Outcome {
        guard let before = before.value else { return await receiveNew(head, body) }
        switch ResumeDecision(for: before.content, status: head.status.code, headers: head.headers) {
        case .append: return await receiveParts(of: before.continued(by: head), body, head)
        case .complete: return Outcome(end: .arrived(before.completed(by: head), answered: head.status))
        case .keep: return await receiveAll(head, body, left: self.before)
        case .replace:
            await keeper?.discard()
            return await receiveNew(head, body)
        case .restart:
            await keeper?.discard()
            return Outcome(end: .refused(head.status, head.headers))
        }
    }

    private func receiveNew(_ head: ReceivedResponse, _ body: BodyStream) async -> Outcome {
        do throws(TransportError) { try await open(head) } catch {
            return Outcome(end: .failed(error, head: .some(head)))
        }
        if let arrival = whole(head, body) { return Outcome(end: .arrived(arrival, answered: head.status)) }
        guard order.isContinuable, let partial = PartialResponse(head) else {
            return await receiveAll(head, body)
        }
        return await receiveParts(of: partial, body, head)
    }

    private func whole(_ head: ReceivedResponse, _ body: BodyStream) -> ReceivedResponse? {
        let limit = limit(of: head)
        guard !head.isPoured, meter.progress.expectedToReceive ?? 0 <= limit, let data = body.whole(upTo: limit)
        else { return nil }
        meter.receive(data.count)
        var arrival = head
        arrival.body = data
        return arrival
    }

    private func receiveAll(
        _ head: ReceivedResponse,
        _ body: BodyStream,
        left: IndirectOptional<PartialResponse> = .none
    ) async -> Outcome {
        var arrival = head
        do throws(TransportError) {
            if head.isPoured {
                try await pour(body)
            } else {
                let limit = limit(of: head)
                try check(meter.progress.expectedToReceive ?? 0, limit)
                arrival.body = try await body.collect(limit: limit) { [meter] in meter.receive($0) }
            }
            return Outcome(end: .arrived(arrival, answered: head.status), left: left)
        } catch {
            return Outcome(end: .failed(error, head: .some(head)), left: left)
        }
    }

    // MARK: Resumable responses

    private func receiveParts(of partial: PartialResponse, _ body: BodyStream, _ head: ReceivedResponse) async
        -> Outcome
    {
        var partial = partial
        meter.expect(partial.content.completeLength)
        do throws(TransportError) {
            try check(Int64(partial.content.completeLength), limit(of: partial.arrival))
            await keeper?.begin(partial)
            try await receive(body, into: &partial)
        } catch {
            // A body that exceeds its limit does so again. Bytes that a sink has not taken leave a gap.
            let isOfUse = ![.bodyTooLarge, .notTaken].contains(error.code) && partial.isWorthKeeping
            if !isOfUse { await keeper?.discard() }
            return Outcome(end: .failed(error, head: .some(head)), left: isOfUse ? .some(partial) : .none)
        }
        return await end(partial, head)
    }

    private func receive(_ body: BodyStream, into partial: inout PartialResponse) async throws(TransportError) {
        var pieces = body.iterator()
        while let piece = try await pieces.next() {
            partial.append(piece)
            let count = partial.content.received.count
            meter.receive(count)
            try check(Int64(count), limit(of: partial.arrival))
            if partial.arrival.isPoured { try await order.pouring?.sink.append(piece) }
            await keeper?.append(piece)
        }
    }

    // No transport knows where a 206 without a length of its own ends: the complete length tells.
    private func end(_ partial: PartialResponse, _ head: ReceivedResponse) async -> Outcome {
        let missing = partial.content.missingCount
        guard head.status == .partialContent, missing != 0 else {
            return Outcome(end: .arrived(partial.arrival, answered: head.status))
        }
        guard missing > 0 else {
            await keeper?.discard()
            return Outcome(end: .refused(head.status, partial.arrival.headers))
        }
        let message = "the rest of the body ended \(missing) bytes early: try again"
        let error = TransportError(.truncatedBody, message, requestMayHaveBeenSent: true)
        return Outcome(end: .failed(error, head: .some(head)), left: .some(partial))
    }
}
