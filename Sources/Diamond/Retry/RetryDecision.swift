/// The decision after an attempt. A value, computed without I/O; the pipeline obeys it.
///
/// The rule is that of gRPC's retry design (proposal A6). A request that was certainly not processed is sent again. Any
/// other is sent again only if a repetition does no harm (RFC 9110 section 9.2.2), and never after bytes of the
/// response have reached the caller.
enum RetryDecision: Hashable, Sendable {
    /// Send the request again.
    ///
    /// - Parameters:
    ///   - isFree: whether the attempt that ended does not count, and the next needs no budget.
    case retry(after: Duration, isFree: Bool, reason: RetryReason)
    /// Refresh the credential, once for all exchanges that wait for it, and send the request again at once with it.
    case refreshCredential
    /// Return the outcome to the caller.
    case giveUp(RetryReason)

    init(_ situation: RetrySituation) {
        switch RetryCause(situation) {
        case .none(let reason): self = .giveUp(reason)
        case .unauthorized: self = situation.refresh
        case .unprocessed(let reason):
            self = situation.repetition(reason, isFree: situation.history.free < RetrySituation.freeAttempts)
        case .repeatable(let reason): self = situation.repetition(reason, isFree: false)
        }
    }
}

extension RetrySituation {
    /// The number of attempts that do not count, because they were certainly not processed.
    fileprivate static let freeAttempts = 3

    fileprivate var refresh: RetryDecision {
        guard request.canRefreshCredential, !history.hasRefreshed else { return .giveUp(.unauthorized) }
        let obstacle = bodyConsumed ?? circuitOpen ?? outOfTime(after: .zero)
        return obstacle.map { .giveUp($0) } ?? .refreshCredential
    }

    fileprivate func repetition(_ reason: RetryReason, isFree: Bool) -> RetryDecision {
        let delay = delay(for: reason)
        let obstacle =
            attemptsUsed(isFree) ?? bodyConsumed ?? circuitOpen ?? budgetEmpty(isFree) ?? tooLong(delay)
            ?? outOfTime(after: delay.total) ?? answeredOffline(after: delay.total)
        if let obstacle { return .giveUp(obstacle) }
        return .retry(after: delay.total, isFree: isFree, reason: delay.pushBack.map { .retryAfter($0) } ?? reason)
    }

    // MARK: The delay

    private struct Delay {
        var own: Duration
        var pushBack: Duration?
        var total: Duration { max(own, pushBack ?? .zero) }
    }

    private func delay(for reason: RetryReason) -> Delay {
        guard !reason.isAtOnce else { return Delay(own: .zero) }
        let backoff = Backoff(policy, isThrottled: reason.code == .throttled)
        return Delay(own: backoff.delay(history.exponent, draw: draw), pushBack: pushBack)
    }

    // MARK: Obstacles

    /// A stored response is served at once, instead of after attempts that would fail as well without a network.
    private func answeredOffline(after delay: Duration) -> RetryReason? {
        guard isAnsweredOffline, delay > .zero, case .failed(let error, afterHead: false) = result,
            error.code.isOffline
        else { return nil }
        return .answeredOffline(error)
    }

    private var bodyConsumed: RetryReason? { isBodyConsumed ? .bodyConsumed : nil }

    private var circuitOpen: RetryReason? { isCircuitOpen ? .circuitOpen : nil }

    private func attemptsUsed(_ isFree: Bool) -> RetryReason? {
        let used = history.counted + (isFree ? 0 : 1)
        let isUsed = policy.attempts == 1 || used >= policy.attempts
        return isUsed ? .attemptsUsed(made: history.attempts.count + 1, counted: used) : nil
    }

    private func budgetEmpty(_ isFree: Bool) -> RetryReason? { isFree || hasBudget ? nil : .budgetEmpty }

    private func tooLong(_ delay: Delay) -> RetryReason? {
        guard let pushBack = delay.pushBack, pushBack > delay.own + policy.retryAfterLimit else { return nil }
        return .retryAfterTooLong(pushBack, limit: policy.retryAfterLimit)
    }

    private func outOfTime(after delay: Duration) -> RetryReason? {
        guard let end = policy.lastStart, elapsed + delay >= end else { return nil }
        return .outOfTime(end)
    }
}
