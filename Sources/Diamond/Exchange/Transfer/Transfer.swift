import Foundation
import HTTPTypes

/// A request's way out, and its answer's way in: a whole one, or the rest of one whose transfer broke before.
///
/// A class, because an attempt hands it on from step to step.
final class Transfer: Sendable {
    enum End: Sendable {
        /// - Parameter answered: what the server said; 206 of a whole answer that was gone on with.
        // Indirect, because it goes back through every step, and most look at its status only.
        indirect case arrived(Arrival, answered: HTTPResponse.Status)
        /// What was received before cannot be gone on with, and this is no answer by itself.
        case refused(HTTPResponse.Status, HTTPFields)
        /// - Parameter head: of the answer, where it was here: what it says stands, whatever became of the body.
        case failed(TransportError, head: Boxed<Arrival> = .none)
    }

    struct Outcome: Sendable {
        var end: End
        /// What can be gone on with.
        var left = Boxed<IncompleteArrival>.none
    }

    /// For the rest, where something was received before.
    let request: TransportRequest
    let order: ExchangeOrder
    /// How many sessions had ended when its cookies were read; `nil` without a jar.
    let removals: Int?
    let isPersonal: Bool
    private let adaptedHeaders: Set<String>
    /// What was received before.
    let before: Boxed<IncompleteArrival>
    let keeper: (any PartialKeeping)?
    /// What has led to it.
    let history: RetryHistory
    let admission: CircuitBreaker.Admission
    let wire: Exchange.Wire
    let meter: TransferMeter

    /// - Parameter outgoing: the order's request, or one for the rest.
    init(
        _ outgoing: ExchangeOrder.Outgoing,
        of order: ExchangeOrder,
        removals: Int?,
        before: Boxed<IncompleteArrival>,
        keeper: (any PartialKeeping)?,
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

    private func head(of response: TransportResponse, _ sentAt: Int64) -> Arrival {
        meter.arrive(response, to: request)
        reportCoding(of: response)
        if let removals {
            wire.cookies?.receive(
                response.headers, from: request.url, of: order.identity, since: removals, at: wire.date)
        }
        return Arrival(
            status: response.status, headers: response.headers, body: Data(), sentAt: sentAt, receivedAt: wire.now(),
            isPersonal: isPersonal, adaptedHeaders: adaptedHeaders, isPoured: isPoured(response.status))
    }

    private func reportCoding(of response: TransportResponse) {
        guard order.scope.activity.isObserved, request.asksForNoCoding,
            request.mayHaveBody(status: response.status.code),
            let coding = response.headers[.contentEncoding]
        else { return }
        order.scope.activity.report(.contentCodingKept(coding.printable, origin: order.origin))
    }

    private func wholeAnswer(_ head: Arrival, _ body: BodyStream) -> Outcome? {
        guard case .none = before else { return nil }
        return whole(head, body).map { Outcome(end: .arrived($0, answered: head.status)) }
    }

    // Not inlined: what answers need that come in parts would lie in the frames of all.
    @inline(never)
    private func receive(_ head: Arrival, _ body: BodyStream) async -> Outcome {
        guard let before = before.value else { return await receiveNew(head, body) }
        let decision = ContinuationDecision(
            before.continuation, from: before.received, status: head.status.code, headers: head.headers)
        switch decision {
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

    private func receiveNew(_ head: Arrival, _ body: BodyStream) async -> Outcome {
        do throws(TransportError) { try await open(head) } catch {
            return Outcome(end: .failed(error, head: .some(head)))
        }
        if let arrival = whole(head, body) { return Outcome(end: .arrived(arrival, answered: head.status)) }
        guard order.isContinuable, let incomplete = IncompleteArrival(head) else {
            return await receiveAll(head, body)
        }
        return await receiveParts(of: incomplete, body, head)
    }

    private func whole(_ head: Arrival, _ body: BodyStream) -> Arrival? {
        let limit = limit(of: head)
        guard !head.isPoured, meter.progress.expectedToReceive ?? 0 <= limit, let data = body.whole(upTo: limit)
        else { return nil }
        meter.receive(data.count)
        var arrival = head
        arrival.body = data
        return arrival
    }

    private func receiveAll(
        _ head: Arrival,
        _ body: BodyStream,
        left: Boxed<IncompleteArrival> = .none
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

    // MARK: What may be gone on with

    private func receiveParts(
        of incomplete: IncompleteArrival,
        _ body: BodyStream,
        _ head: Arrival
    ) async -> Outcome {
        var incomplete = incomplete
        meter.expect(incomplete.continuation.length)
        do throws(TransportError) {
            try check(Int64(incomplete.continuation.length), limit(of: incomplete.arrival))
            await keeper?.begin(incomplete)
            try await receive(body, into: &incomplete)
        } catch {
            // What is too large once is so again, and behind what was not taken nothing can follow.
            let isOfUse = ![.bodyTooLarge, .notTaken].contains(error.code) && incomplete.isWorthKeeping
            if !isOfUse { await keeper?.discard() }
            return Outcome(end: .failed(error, head: .some(head)), left: isOfUse ? .some(incomplete) : .none)
        }
        return await end(incomplete, head)
    }

    private func receive(_ body: BodyStream, into incomplete: inout IncompleteArrival) async throws(TransportError) {
        var pieces = body.makeAsyncIterator()
        while let piece = try await pieces.next() {
            incomplete.append(piece)
            meter.receive(incomplete.received)
            try check(Int64(incomplete.received), limit(of: incomplete.arrival))
            if incomplete.arrival.isPoured { try await order.pouring?.sink.append(piece) }
            await keeper?.append(piece)
        }
    }

    // Of a rest without a length of its own, no transport knows where it ends.
    private func end(_ incomplete: IncompleteArrival, _ head: Arrival) async -> Outcome {
        let answered = head.status
        let missing = incomplete.continuation.length - incomplete.received
        guard answered == .partialContent, missing != 0 else {
            return Outcome(end: .arrived(incomplete.arrival, answered: answered))
        }
        guard missing > 0 else {
            await keeper?.discard()
            return Outcome(end: .refused(answered, incomplete.arrival.headers))
        }
        let message = "the rest of the body ended \(missing) bytes early: try again"
        let error = TransportError(.truncatedBody, message, requestMayHaveBeenSent: true)
        return Outcome(end: .failed(error, head: .some(head)), left: .some(incomplete))
    }
}
