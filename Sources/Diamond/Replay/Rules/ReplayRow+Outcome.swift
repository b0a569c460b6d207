/// The effect of an attempt's outcome on a job. No other code decides it.
extension ReplayRow {
    /// Changes the job by the outcome of its attempt.
    ///
    /// - Parameters:
    ///   - outcome: the outcome.
    ///   - now: the current time.
    ///   - draw: a random number from 0 up to 1.
    public mutating func apply(_ outcome: ReplayOutcome, at now: QueueTime, draw: Double) {
        defer { clearOwner() }
        switch outcome {
        case .answered(let status, let isTransient, let pushBack, let isBehindRedirect, _):
            self.status = status
            applyAnswer(
                status: status, isTransient: isTransient, pushBack: pushBack, isBehindRedirect: isBehindRedirect,
                now: now, draw: draw)
            // After the answer is applied: a redirect deletes nothing, so a 404 after one is no proof that the job has
            // deleted the object.
            if isBehindRedirect { unknownSince = unknownSince ?? sentAt ?? now }
        case .failed(let fault, _, _): apply(fault, now: now, draw: draw)
        }
        if !state.isEnd, let reason = reviewReason(at: now) { enter(.needsReview, reason: reason) }
    }

    /// Ends a job without success as done, because its caller has the final answer or error, and decides. In strict
    /// order it stays dead: the later jobs wait until a person decides.
    mutating func endAsDelivered() {
        guard state == .dead, !isStrict, [.refused, .unsendable, .attemptsUsed].contains(reason) else { return }
        state = .done
    }

    /// Ends a job that has expired.
    public mutating func expire() {
        // If the request may have been processed, a person has to decide.
        let isUnknown = unknownSince != nil && !isIdempotent
        enter(isUnknown ? .needsReview : .dead, reason: .expired)
        clearOwner()
    }

    /// An earlier exchange of the job with an unknown outcome, after which its owner sends the request again.
    struct EarlierExchange: Hashable, Sendable {
        /// The time at which the exchange began.
        var sentAt: QueueTime
        /// Whether the app guarantees that the request acts once, however often it arrives.
        var isHarmless: Bool
        /// Whether a pause has interrupted the exchange. It is `false` if another attempt of the same run, or a
        /// redirect, follows.
        var isPaused: Bool

        /// Returns the reason why the request must not be sent again; `nil` if it may.
        ///
        /// An attempt that follows in the same run needs no idempotency key, but if there is one, it must not have
        /// expired.
        ///
        /// - Parameter reason: the reason for a review by the rules for other owners.
        func refusal(_ reason: ReplayReason?) -> ReplayReason? {
            isHarmless || (!isPaused && reason != .keyExpired) ? nil : reason
        }
    }

    /// Checks whether the job may be sent again after an earlier exchange. If not, puts it in review.
    ///
    /// - Returns: whether it may be sent again.
    mutating func continueIfAllowed(after earlier: EarlierExchange, at now: QueueTime) -> Bool {
        unknownSince = unknownSince ?? min(earlier.sentAt, now)
        guard let reason = earlier.refusal(reviewReason(at: now)) else { return true }
        review(reason)
        return false
    }

    /// Checks whether the job may still be sent after it has waited for its permit. If not, puts it in review.
    ///
    /// - Returns: whether it may be sent.
    mutating func beginIfAllowed(at now: QueueTime) -> Bool {
        guard let reason = reviewReason(at: now) else { return true }
        review(reason)
        return false
    }

    /// Puts a job in review that was sent before, though its row does not say so.
    mutating func endAsSentBefore(at now: QueueTime) {
        unknownSince = unknownSince ?? now
        review(.outcomeUnknown)
    }

    private mutating func review(_ reason: ReplayReason) {
        enter(.needsReview, reason: reason)
        clearOwner()
    }

    /// Puts a job in review whose stored data is damaged.
    public mutating func markDamaged() {
        review(.damaged)
        isHeld = false
    }

    private mutating func clearOwner() {
        owner = nil
        sentAt = nil
    }

    // MARK: Answers

    private mutating func applyAnswer(
        status: Int, isTransient: Bool, pushBack: Duration?, isBehindRedirect: Bool, now: QueueTime, draw: Double
    ) {
        if Attempt.serverMayHaveActed(answered: status, hasRetryAfter: pushBack != nil) {
            unknownSince = unknownSince ?? sentAt ?? now
        }
        // An earlier request with the same key is still being processed (draft-ietf-httpapi-idempotency-key-header
        // section 2.7).
        let isInProgress = status == 409 && keyLifetime != nil
        switch status {
        case 200..<400: enter(.done, reason: .finished)
        case 404, 410:
            if mayHaveDeleted { enter(.done, reason: .gone) } else { enter(.dead, reason: .refused) }
        // Without an identity, no sign-in can help.
        case 401 where identity == nil: enter(.dead, reason: .refused)
        case 400, 422: enter(.dead, reason: .refused)
        case _ where !isTransient && ![401, 421].contains(status) && !isInProgress: enter(.dead, reason: .refused)
        // The remaining statuses lead to another attempt. The server that redirected the request may have acted.
        case _ where isBehindRedirect && !isRepeatable: enter(.needsReview, reason: .outcomeUnknown)
        case 401: hold(reason: .unauthorized)
        // The wrong server was reached, and has done nothing (RFC 9110 section 15.5.20). Another connection may reach
        // the right one.
        case 421: repeatLater(now: now, draw: draw)
        case 409 where isInProgress: repeatLater(now: now, draw: draw)
        // The server itself asks for another attempt.
        case 429, 503:
            if let pushBack {
                wait(for: pushBack, now: now, draw: draw)
            } else {
                repeatIfHarmless(after: status, now: now, draw: draw)
            }
        default: repeatIfHarmless(after: status, now: now, draw: draw)
        }
    }

    /// Whether an earlier attempt of the job may have deleted the object. This holds only for DELETE: a PUT to a
    /// missing object has stored nothing.
    private var mayHaveDeleted: Bool { method == "DELETE" && mayBeKnown }

    private var isRepeatable: Bool { isIdempotent || keyLifetime != nil }

    /// Repeats the request if that is harmless. Otherwise puts it in review, because a failing server does not say
    /// whether it has processed the request.
    private mutating func repeatIfHarmless(after status: Int, now: QueueTime, draw: Double) {
        if [408, 425, 429].contains(status) || isRepeatable { return repeatLater(now: now, draw: draw) }
        enter(.needsReview, reason: .outcomeUnknown)
    }

    // MARK: Failures

    private mutating func apply(_ fault: ReplayOutcome.Fault, now: QueueTime, draw: Double) {
        switch fault {
        case .unsent: repeatLater(now: now, draw: draw)
        case .unknown:
            unknownSince = unknownSince ?? sentAt ?? now
            if let reason = reviewReason(at: now) {
                enter(.needsReview, reason: reason)
            } else {
                repeatLater(now: now, draw: draw)
            }
        case .offline: wait(until: now + ReplayBackoff.offline, reason: .offline)
        case .unsendable: enter(.dead, reason: .unsendable)
        // Without an identity, no sign-in can help, but another process may know the secret.
        case .noCredential:
            if identity == nil { repeatLater(now: now, draw: draw) } else { hold(reason: .unauthorized) }
        case .undecodable: repeatUndecodable(now: now, draw: draw)
        case .returned: wait(until: min(runAt, now), reason: .returned)
        case .interrupted:
            unknownSince = unknownSince ?? sentAt ?? now
            if let reason = reviewReason(at: now) {
                enter(.needsReview, reason: reason)
            } else {
                wait(until: now, reason: .returned)
            }
        }
    }

    /// Tries once more, for another version of the app. The second time, ends the job (River's pull request 1324). No
    /// request was sent, and no attempt counts.
    private mutating func repeatUndecodable(now: QueueTime, draw: Double) {
        guard !wasUndecodable else { return enter(.dead, reason: .undecodable) }
        wait(until: now + ReplayBackoff.delay(after: attempts + 1, draw: draw), reason: .backoff)
    }

    /// Returns a job to the queue whose owner died, or whose owner's lease ended.
    ///
    /// - Parameters:
    ///   - rescues: the number of times this happened in 72 hours, this time included.
    ///   - mayBeCause: whether the job may have caused the death. It has not if, for example, the system ended a
    ///     suspended app.
    ///   - now: the current time.
    public mutating func applyOwnerDeath(rescues: Int, mayBeCause: Bool, at now: QueueTime) {
        renewToken()
        defer { clearOwner() }
        // The job had reached its time when it was claimed, even if the clock was set back since.
        guard let sentAt else { return wait(until: min(runAt, now), reason: .returned) }
        unknownSince = unknownSince ?? sentAt
        if let reason = reviewReason(at: now) { return enter(.needsReview, reason: reason) }
        if rescues >= Self.poisonLimit, mayBeCause { return enter(.dead, reason: .poison) }
        wait(until: min(runAt, now), reason: .rescued)
    }

    /// The number of deaths within ``poisonWindow`` that make a job poison (Sidekiq's numbers, its issue 4633).
    static let poisonLimit = 3
    /// The time in which deaths are counted: 72 hours, in milliseconds.
    public static let poisonWindow: Int64 = 72 * 3_600_000

    // MARK: Steps

    /// Sets the state with its reason.
    package mutating func enter(_ state: ReplayState, reason: ReplayReason) {
        self.state = state
        self.reason = reason
    }

    private mutating func hold(reason: ReplayReason) {
        enter(.held, reason: reason)
        isHeld = true
    }

    private mutating func wait(until time: QueueTime, reason: ReplayReason) {
        enter(.waiting, reason: reason)
        runAt = time
    }

    private mutating func repeatLater(now: QueueTime, draw: Double) {
        attempts += 1
        guard attempts < attemptLimit else { return enter(.dead, reason: .attemptsUsed) }
        wait(until: now + ReplayBackoff.delay(after: attempts, draw: draw), reason: .backoff)
    }

    /// Waits as long as the server asks for, but at least as long as after any other failure. Otherwise a proxy that
    /// asks for 5 seconds while its server is down would use up all attempts in two minutes.
    private mutating func wait(for pushBack: Duration, now: QueueTime, draw: Double) {
        let time = now + ReplayBackoff.delay(pushedBack: pushBack, draw: draw)
        repeatLater(now: now, draw: draw)
        if state == .waiting, time >= runAt { wait(until: time, reason: .retryAfter) }
    }
}
