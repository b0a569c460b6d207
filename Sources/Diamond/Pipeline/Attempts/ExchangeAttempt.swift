import Foundation
import HTTPTypes

/// One attempt of an exchange, after it has ended.
///
/// It is a class, so that each step of the exchange stores only a reference.
final class ExchangeAttempt: Sendable {
    /// The limit for the time of an attempt.
    struct Limit: Sendable {
        /// The time that is left for the attempt.
        let rest: Duration
        /// The part of the attempt's time that interceptors have already spent on its request.
        let spent: Duration
    }

    let startedAt: Date
    // Not the transfer: it has the request, and the bytes that attempts before it have received.
    private let meter: TransferMeter
    private let end: Transfer.End
    /// The received part of an incomplete response, which the next attempt continues.
    let partialResponse: IndirectOptional<PartialResponse>
    /// The method of a durable request, whose job the head of a response may decide; `nil` for others, which need the
    /// whole response.
    private let durableMethod: HTTPRequest.Method?

    fileprivate init(_ transfer: Transfer, startedAt: Date, _ completion: Transfer.Completion) {
        self.startedAt = startedAt
        meter = transfer.meter
        durableMethod = transfer.exchange.gate.map { _ in transfer.request.method }
        end = completion.end
        partialResponse = completion.partialResponse
    }

    // MARK: The end

    /// Whether it has received a response with a status below 400.
    var isGood: Bool {
        if case .received(let received, _) = end { received.status.code < 400 } else { false }
    }

    /// Whether it has received a response whose status is not a temporary failure.
    ///
    /// - Parameter statuses: the statuses of temporary failures.
    func isAnswer(unless statuses: Set<Int>) -> Bool {
        if case .received(let received, _) = end { !statuses.contains(received.status.code) } else { false }
    }

    /// Whether the server has refused to continue a partial response, so that the whole has to be requested.
    var isRefused: Bool { if case .refused = end { true } else { false } }

    /// The result that the retry decision depends on.
    var result: RetrySituation.AttemptResult {
        switch end {
        case .received(let received, _): .answered(received.status, received.headers)
        case .refused(let status, let headers): .answered(status, headers)
        case .failed(_, .some(let head)) where durableMethod.map(head.status.decides) == true:
            .answered(head.status, head.headers)
        case .failed(let error, let head): .failed(error, afterHead: head.value != nil)
        }
    }

    /// The outcome that activity observers get.
    var activityOutcome: ActivityOutcome {
        switch end {
        case .received(_, let status), .refused(let status, _): ActivityOutcome(status: status)
        case .failed(let error, _): ActivityOutcome(error: error.code.description)
        }
    }

    /// The outcome that the history of attempts records.
    var recordedOutcome: Attempt.Outcome {
        switch end {
        case .received(_, let status), .refused(let status, _): .answered(status)
        case .failed(let error, _): .failed(code: error.code.description, message: error.message)
        }
    }

    /// Whether the server may have processed the request, without a response that says so.
    ///
    /// - Parameter now: the current time.
    func serverMayHaveActed(at now: WallTime) -> Bool {
        switch result {
        case .answered(let status, let headers):
            let hasRetryAfter = RetryAfter.duration(headers, now: now) != nil
            return Attempt.serverMayHaveActed(answered: status.code, hasRetryAfter: hasRetryAfter)
        case .failed(let error, let isAfterHead): return error.serverMayHaveActed || isAfterHead
        }
    }

    /// Returns the caller's response, or throws its error.
    ///
    /// - Parameters:
    ///   - attempts: the attempts of the exchange, this one included; empty if it was the only one.
    ///   - start: the start of the exchange, before it looks for a partial response.
    func receivedResponse(
        after attempts: [Attempt],
        since start: Duration
    ) throws(ConnectionError) -> ReceivedResponse {
        var error: ConnectionError
        switch end {
        case .received(var received, _):
            received.attempts = attempts
            received.metrics = .some(meter.metrics(after: max(attempts.count, 1), since: start))
            return received
        case .refused(let status, _):
            let message = "the rest of the body was answered with status \(status.code): send the request again"
            error = ConnectionError(.connectionLost, message)
        case .failed(var cause, let head):
            // A server that has begun to respond has the request, whatever the transport says of the later failure.
            if case .some = head { cause.serverMayHaveActed = true }
            error = ConnectionError(cause)
            error.head = head
        }
        error.attempts = attempts
        throw error
    }
}

extension Transfer {
    /// Runs the attempt, and notes how it ends.
    func run() async -> ExchangeAttempt {
        let token = exchange.scope.begin(.attempt, attempt: number)
        let sentAt = environment.now()
        let limit = loop.limit(after: request.adaptation.spent)
        // The limit is for the time until the head if the body goes to a sink, otherwise for the whole attempt.
        let completion =
            if let limit, exchange.sink == nil { await completion(sentAt: sentAt, within: limit) } else {
                await completion(sentAt: sentAt, headLimit: limit)
            }
        return attempt(after: completion, startedAt: sentAt.date, countedBy: token)
    }

    /// Returns the ended attempt, and notes its end.
    @inline(never)
    private func attempt(
        after completion: Completion,
        startedAt: Date,
        countedBy token: ActivityToken
    ) -> ExchangeAttempt {
        let attempt = ExchangeAttempt(self, startedAt: startedAt, completion)
        token.end(attempt.activityOutcome)
        environment.retryCoordinator.note(attempt.result, of: admission, from: exchange.origin)
        return attempt
    }

    // Not inlined, because few policies limit an attempt.
    @inline(never)
    private func completion(sentAt: WallTime, within limit: ExchangeAttempt.Limit) async -> Completion {
        let clock = environment.retryCoordinator.clock
        var (completion, isLate) = await clock.limit(limit.rest).canceling { await self.completion(sentAt: sentAt) }
        guard isLate, case .failed(let error, let head) = completion.end, error.code == .cancelled else {
            return completion
        }
        completion.end = .failed(TransportError(late: error, limit), head: head)
        return completion
    }
}

extension TransportError {
    init(late error: TransportError, _ limit: ExchangeAttempt.Limit) {
        let time = (limit.rest + limit.spent).milliseconds
        let message = "the attempt took longer than \(time) ms: allow it more time in the retry policy"
        self.init(.timedOut, message, serverMayHaveActed: error.serverMayHaveActed)
    }
}
