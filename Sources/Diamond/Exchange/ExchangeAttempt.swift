import Foundation
import HTTPTypes

/// One attempt of an exchange, and what came of it.
struct ExchangeAttempt: Sendable {
    /// The limit for the time of an attempt.
    struct Limit: Sendable {
        let rest: Duration
        /// The part of its time that was already spent on adapting its request.
        let spent: Duration
    }

    let startedAt: Date
    private let end: Transfer.End
    /// The method of a request that is kept; `nil` for others, which only a whole answer decides.
    private let keptMethod: HTTPRequest.Method?
    /// The received part of an incomplete response, which the next attempt continues.
    let left: IndirectOptional<PartialResponse>

    /// Sends the request, and takes the whole response, or the rest of it.
    ///
    /// - Parameter limit: the limit for its time, which ends with the head if the body goes to a sink; `nil` for none.
    init(_ transfer: Transfer, limit: Limit?) async {
        startedAt = Date(milliseconds: transfer.wire.now())
        let outcome = await Self.outcome(of: transfer, limit)
        (end, left) = (outcome.end, outcome.left)
        keptMethod = transfer.order.gate.map { _ in transfer.request.method }
    }

    private static func outcome(of transfer: Transfer, _ limit: Limit?) async -> Transfer.Outcome {
        guard let limit, transfer.order.pouring == nil else { return await transfer.outcome(headLimit: limit) }
        var (outcome, isLate) = await transfer.wire.repetitions.clock.limit(limit.rest) { await transfer.outcome() }
        guard isLate, case .failed(let error, let head) = outcome.end, error.code == .cancelled else {
            return outcome
        }
        outcome.end = .failed(TransportError(late: error, limit), head: head)
        return outcome
    }

    private func isJudged(by head: ReceivedResponse) -> Bool { keptMethod.map { head.status.decides($0) } ?? false }

    // MARK: What came of it

    var isGood: Bool {
        if case .arrived(let arrival, _) = end { arrival.status.code < 400 } else { false }
    }

    /// Whether it has brought what is no failure of the server for now.
    ///
    /// - Parameter statuses: those that may pass.
    func isAnswer(unless statuses: Set<Int>) -> Bool {
        if case .arrived(let arrival, _) = end { !statuses.contains(arrival.status.code) } else { false }
    }

    /// Whether the whole has to be asked for.
    var isRefused: Bool { if case .refused = end { true } else { false } }

    /// The outcome that the retry decision depends on.
    var outcome: RetrySituation.Outcome {
        switch end {
        case .arrived(let arrival, _): .answered(arrival.status, arrival.headers)
        case .refused(let status, let headers): .answered(status, headers)
        case .failed(_, .some(let head)) where isJudged(by: head): .answered(head.status, head.headers)
        case .failed(let error, let head): .failed(error, afterHead: head.value != nil)
        }
    }

    /// For those who observe it.
    var ending: ActivityOutcome {
        switch end {
        case .arrived(_, let status), .refused(let status, _): ActivityOutcome(status: status)
        case .failed(let error, _): ActivityOutcome(error: error.code.description)
        }
    }

    /// For the history.
    var record: Attempt.Outcome {
        switch end {
        case .arrived(_, let status), .refused(let status, _): .answered(status)
        case .failed(let error, _): .failed(code: error.code.description, message: error.message)
        }
    }

    /// Whether it may have been processed without anybody knowing.
    ///
    /// - Parameter now: milliseconds since 1970.
    func mayHaveArrived(at now: Int64) -> Bool {
        switch outcome {
        case .answered(let status, let headers):
            let isAsking = RetryAfter.duration(headers, now: now) != nil
            return Attempt.mayHaveArrived(answered: status.code, hasRetryAfter: isAsking)
        case .failed(let error, let isAfterHead): return error.requestMayHaveBeenSent || isAfterHead
        }
    }

    /// Returns the caller's response, or throws its error.
    func arrival(after attempts: [Attempt]) throws(ConnectionError) -> ReceivedResponse {
        var error: ConnectionError
        switch end {
        case .arrived(var arrival, _):
            arrival.attempts = attempts
            return arrival
        case .refused(let status, _):
            let message = "the rest of the body was answered with status \(status.code): send the request again"
            error = ConnectionError(.connectionLost, message)
        case .failed(var cause, let head):
            // Whoever has begun to answer has it, whatever the transport says of what broke then.
            if case .some = head { cause.requestMayHaveBeenSent = true }
            error = ConnectionError(cause)
            error.head = head
        }
        error.attempts = attempts
        throw error
    }
}

extension TransportError {
    init(late error: TransportError, _ limit: ExchangeAttempt.Limit) {
        let time = (limit.rest + limit.spent).milliseconds
        let message = "the attempt took longer than \(time) ms: allow it more time in the retry policy"
        self.init(.timedOut, message, requestMayHaveBeenSent: error.requestMayHaveBeenSent)
    }
}
