/// The effect of an attempt's outcome on a job. Pure: no other place decides it.
extension ReplayRow {
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - draw: from 0 up to 1.
    mutating func take(_ outcome: ReplayOutcome, at now: Int64, draw: Double) {
        // Of the attempt that has ended, and of none when it is over.
        defer { (owner, sentAt) = (nil, nil) }
        switch outcome {
        case .answered(let status, let isTransient, let pushBack, let isBehindRedirect, _):
            self.status = status
            take(status, isTransient, pushBack, isBehindRedirect, now, draw)
            // Last: no redirect makes a thing go, and what is not there behind one is not gone by the job's own doing.
            if isBehindRedirect { unknownAt = unknownAt ?? sentAt ?? now }
        case .failed(let fault, _, _): take(fault, now, draw)
        }
        if !state.isEnd, let reason = reviewReason(at: now) { end(.needsReview, reason) }
    }

    /// Sets the state: held if the job itself is held, waiting if its time has not come, else ready.
    mutating func rest(at now: Int64) {
        state = isHeld ? .held : runAt > now ? .waiting : .ready
    }

    /// Ends a job whose time is over.
    mutating func expire() {
        // What may have been processed is for a person to look at, not simply over.
        let isOpen = unknownAt != nil && !isIdempotent
        end(isOpen ? .needsReview : .dead, .expired)
        (owner, sentAt) = (nil, nil)
    }

    /// An earlier exchange that may have been processed unseen, when the owner of the job continues with it.
    struct CutOff: Hashable, Sendable {
        /// The time at which the exchange began.
        var sentAt: Int64
        /// Whether the app guarantees that the request acts once, however often it arrives.
        var isHarmless: Bool
        /// Whether a pause has cut it off. It is `false` if only another attempt of the same run, or a redirect,
        /// follows.
        var isPaused: Bool

        /// - Parameter reason: why it is for review if nobody goes on with it.
        /// - Returns: why it is all the same. What a run sends by itself needs no key, but one that has not expired.
        func refusal(_ reason: ReplayReason?) -> ReplayReason? {
            isHarmless || (!isPaused && reason != .keyExpired) ? nil : reason
        }
    }

    /// - Returns: whether it may be sent once more; where not, it is for review.
    mutating func goOn(behind cutOff: CutOff, at now: Int64) -> Bool {
        unknownAt = unknownAt ?? min(cutOff.sentAt, now)
        guard let reason = cutOff.refusal(reviewReason(at: now)) else { return true }
        return stop(reason)
    }

    /// - Returns: whether it may be sent still, after it has waited for its place on the wire; where not, it is for review.
    mutating func mayBegin(at now: Int64) -> Bool {
        guard let reason = reviewReason(at: now) else { return true }
        return stop(reason)
    }

    /// Ends a job that was sent before, though the record of that is lost. It is for review.
    mutating func hasLeftBefore(at now: Int64) {
        unknownAt = unknownAt ?? now
        _ = stop(.outcomeUnknown)
    }

    private mutating func stop(_ reason: ReplayReason) -> Bool {
        end(.needsReview, reason)
        (owner, sentAt) = (nil, nil)
        return false
    }

    /// Sets aside a job whose stored row is damaged. It is for review.
    mutating func setAside() {
        end(.needsReview, .damaged)
        (owner, sentAt, isHeld) = (nil, nil, false)
    }

    // MARK: Answers

    private mutating func take(
        _ status: Int,
        _ isTransient: Bool,
        _ pushBack: Duration?,
        _ isBehindRedirect: Bool,
        _ now: Int64,
        _ draw: Double
    ) {
        if Attempt.mayHaveArrived(answered: status, isAsking: pushBack != nil) {
            unknownAt = unknownAt ?? sentAt ?? now
        }
        // The first one with the key is still at work (draft-ietf-httpapi-idempotency-key-header section 2.7).
        let isAtWork = status == 409 && keyLifetime != nil
        switch status {
        case 200..<400: end(.done, .finished)
        case 404, 410: end(hasGone ? .done : .dead, hasGone ? .gone : .refused)
        // Nobody signs in for what is nobody's.
        case 401 where identity == nil: end(.dead, .refused)
        case 400, 422: end(.dead, .refused)
        case _ where !isTransient && ![401, 421].contains(status) && !isAtWork: end(.dead, .refused)
        // The others are sent again, as they were asked for: that may have been done by the server before.
        case _ where isBehindRedirect && !isRepeatable: end(.needsReview, .outcomeUnknown)
        case 401: hold(.unauthorized)
        // Not for this server, which has done nothing (RFC 9110 section 15.5.20): another connection goes to the right one.
        case 421: repeatLater(now, draw)
        case 409 where isAtWork: repeatLater(now, draw)
        // The server itself asks for another one.
        case 429, 503:
            if let pushBack { wait(pushBack, now, draw) } else { repeatIfHarmless(status, now, draw) }
        default: repeatIfHarmless(status, now, draw)
        }
    }

    /// That it is gone may be its own doing. Of no other method: a PUT to what is not there has put nothing.
    private var hasGone: Bool { method == "DELETE" && mayBeKnown }

    private var isRepeatable: Bool { isIdempotent || keyLifetime != nil }

    /// Repeats the request if that is harmless. A server that fails does not tell whether it has processed the request.
    private mutating func repeatIfHarmless(_ status: Int, _ now: Int64, _ draw: Double) {
        if [408, 425, 429].contains(status) || isRepeatable { return repeatLater(now, draw) }
        end(.needsReview, .outcomeUnknown)
    }

    // MARK: Failures

    private mutating func take(_ fault: ReplayOutcome.Fault, _ now: Int64, _ draw: Double) {
        switch fault {
        case .unsent: repeatLater(now, draw)
        case .unknown:
            unknownAt = unknownAt ?? sentAt ?? now
            if let reason = reviewReason(at: now) { end(.needsReview, reason) } else { repeatLater(now, draw) }
        case .offline: wait(until: now + ReplayBackoff.offline.milliseconds, .offline)
        case .unsendable: end(.dead, .unsendable)
        // Where it is nobody's, another process may know the secret.
        case .noCredential: identity == nil ? repeatLater(now, draw) : hold(.unauthorized)
        case .undecodable: undecodable(now, draw)
        case .returned: wait(until: min(runAt, now), .returned)
        case .interrupted:
            unknownAt = unknownAt ?? sentAt ?? now
            if let reason = reviewReason(at: now) { end(.needsReview, reason) } else { wait(until: now, .returned) }
        }
    }

    /// Tries once more, for another version of the app. The second time, ends the job (River's pull request 1324). No
    /// request was sent, and no attempt counts.
    private mutating func undecodable(_ now: Int64, _ draw: Double) {
        guard !wasUndecodable else { return end(.dead, .undecodable) }
        wait(until: now + ReplayBackoff.delay(after: attempts + 1, draw: draw), .backoff)
    }

    /// Takes a job from an owner that has died, or was away for longer than its lease.
    ///
    /// - Parameters:
    ///   - rescues: the number of times this happened in 72 hours, this time included.
    ///   - isInnocent: whether the job certainly did not cause the death, for example if the system ended a suspended
    ///     app.
    mutating func takeDeath(rescues: Int, isInnocent: Bool, at now: Int64) {
        renewToken()
        defer { (owner, sentAt) = (nil, nil) }
        // Who was claimed had its time, whatever a clock says that was set back since.
        guard let sentAt else { return wait(until: min(runAt, now), .returned) }
        unknownAt = unknownAt ?? sentAt
        if let reason = reviewReason(at: now) { return end(.needsReview, reason) }
        if rescues >= Self.poisonLimit, !isInnocent { return end(.dead, .poison) }
        wait(until: min(runAt, now), .rescued)
    }

    /// Deaths in 72 hours that make a job poison (Sidekiq's numbers, its issue 4633).
    static let poisonLimit = 3
    static let poisonWindow: Int64 = 72 * 3_600_000

    // MARK: Steps

    private mutating func end(_ state: ReplayState, _ reason: ReplayReason) {
        (self.state, self.reason) = (state, reason)
    }

    private mutating func hold(_ reason: ReplayReason) { (state, self.reason, isHeld) = (.held, reason, true) }

    private mutating func wait(until time: Int64, _ reason: ReplayReason) {
        (state, self.reason, runAt) = (.waiting, reason, time)
    }

    private mutating func repeatLater(_ now: Int64, _ draw: Double) {
        attempts += 1
        guard attempts < attemptLimit else { return end(.dead, .attemptsUsed) }
        wait(until: now + ReplayBackoff.delay(after: attempts, draw: draw), .backoff)
    }

    /// As long as the server asks for, and no shorter than after any other failure: a proxy that says "in 5 seconds" while
    /// what stands behind it is down would use up all attempts in two minutes.
    private mutating func wait(_ pushBack: Duration, _ now: Int64, _ draw: Double) {
        let time = now + ReplayBackoff.delay(pushedBack: pushBack, draw: draw)
        repeatLater(now, draw)
        if state == .waiting, time >= runAt { wait(until: time, .retryAfter) }
    }
}
