/// The transitions of a job, apart from the effect of an outcome.
extension ReplayRow {
    /// Creates the row of a new job.
    ///
    /// - Parameters:
    ///   - draft: the request, with its policy.
    ///   - id: the job's id.
    ///   - isHead: whether it is the head of its ordering key, or has none.
    ///   - isCovered: whether a hold covers its key, its identity or its lane.
    ///   - now: the current time.
    public init(_ draft: ReplayDraft, id: Int64, isHead: Bool, isCovered: Bool, at now: QueueTime) {
        self.init(id: id)
        identity = draft.identity
        orderingKey = draft.policy.orderingKey
        isStrict = draft.policy.order == .strict
        lane = draft.lane
        uniqueKey = draft.uniqueKey
        creates = draft.createdID ?? ""
        takeRequest(of: draft, at: now)
        let heldReason = draft.heldReason ?? (isCovered ? .held : nil)
        let isDelayed = (draft.runAt ?? now) > now
        state = heldReason != nil ? .held : isDelayed ? .waiting : .ready
        reason = heldReason ?? (isDelayed ? .delayed : .enqueued)
        self.isHead = isHead
        isHeld = draft.heldReason != nil
        runAt = (draft.runAt ?? now).bounded
        // The time may come from a wall clock that was ahead. Then a key's lifetime would begin in the future.
        unknownSince = draft.history.unknownSince.map { min($0, now).bounded }
    }

    private mutating func takeRequest(of draft: ReplayDraft, at now: QueueTime) {
        method = draft.method
        isIdempotent = draft.isIdempotent
        keyLifetime = draft.keyLifetime
        expiresAt = draft.expiry(at: now)
        attemptLimit = draft.policy.attempts.clamped(to: ReplayPolicy.allowedAttempts)
        digest = Self.digest(of: draft.request)
    }

    /// Takes the values of another request, which has the same ordering key, order, lane and unique name. The expiry and
    /// the attempts start again. Then the storage sets the state (``updateState(at:isCovered:)``).
    public mutating func replace(by draft: ReplayDraft, at now: QueueTime) {
        // A creation that an earlier version has added is known by its row only.
        let isKnown = draft.policy.creates == nil && draft.method.isExactly(method)
        let awaited = awaitsIDs
        takeRequest(of: draft, at: now)
        if !isKnown { creates = draft.createdID ?? "" }
        attempts = 0
        if !draft.policy.awaits.isEmpty {
            // A job that is held continues to be held when the ids are known.
            if !isHeld { awaitIDs() }
        } else if awaited {
            isHeld = false
        }
        // A job that waits for its identity to sign in continues to wait.
        if !isHeld { reason = .replaced }
        if draft.policy.uniqueness != .preserveSchedule { runAt = (draft.runAt ?? now).bounded }
    }

    /// Makes a waiting job ready that has reached its time.
    public mutating func promote() {
        state = .ready
        reason = .due
    }

    /// Gives the job to an owner, with a new token.
    public mutating func claim(by owner: Int64) {
        state = .running
        reason = .claimed
        self.owner = owner
        sentAt = nil
        renewToken()
    }

    /// Sets the state of a job that neither runs nor has ended: held if it or a hold covers it, waiting until its time,
    /// ready otherwise. Does nothing to other jobs.
    ///
    /// - Parameters:
    ///   - now: the current time.
    ///   - isCovered: whether a hold covers its key, its identity or its lane. Called only if it matters.
    public mutating func updateState<Failure: Error>(
        at now: QueueTime, isCovered: (ReplayRow) throws(Failure) -> Bool
    ) throws(Failure) {
        guard !state.isEnd, state != .running else { return }
        state = isHeld ? .held : runAt > now ? .waiting : .ready
        if state != .held, try isCovered(self) { state = .held }
    }

    /// Sets the reason of a job that ``updateState(at:isCovered:)`` has held or released.
    ///
    /// - Parameter old: the state before.
    /// - Returns: the transition; `nil` if the job was neither held nor released.
    package mutating func noteHold(after old: ReplayState) -> ReplayTransition.Verb? {
        guard (state == .held) != (old == .held) else { return nil }
        reason = state == .held ? .held : .released
        return state == .held ? .hold : .release
    }

    /// Holds the job until the ids that its request needs are known.
    package mutating func awaitIDs() {
        isHeld = true
        reason = .awaitingID
    }

    /// Releases the job, because the ids that its request needs are known.
    package mutating func releaseWithIDs<Failure: Error>(
        at now: QueueTime, isCovered: (ReplayRow) throws(Failure) -> Bool
    ) throws(Failure) {
        isHeld = false
        reason = .released
        try updateState(at: now, isCovered: isCovered)
        if state == .held { reason = .held }
    }

    /// Restarts the expiry of a redriven job, which may have ended because it expired. If it needs ids, it waits for
    /// them again.
    ///
    /// - Parameter policy: the policy of its request; `nil` if this program cannot decode it.
    package mutating func renew(by policy: ReplayPolicy?, at now: QueueTime) {
        if policy?.awaits.isEmpty == false { awaitIDs() }
        let expiry = policy.map(\.expiry) ?? ReplayPolicy.durable.expiry
        expiresAt = expiry.map { now + $0 }
    }

    // MARK: Sending

    /// Checks a running job with the newest token for the last time before it is sent.
    ///
    /// - Returns: the transition that ends the claim; `nil` if the job may be sent unless a hold covers it
    ///   (``giveBack(at:)``).
    public mutating func refuseBegin(
        _ start: ReplayStart, by owner: Int64, at now: QueueTime
    ) -> ReplayTransition.Verb? {
        guard self.owner == owner else {
            // The process was suspended, and has a new owner now. The job goes back to the queue, as after a rescue.
            applyOwnerDeath(rescues: 0, mayBeCause: false, at: now)
            return .rescue
        }
        if let earlier = start.earlier {
            guard continueIfAllowed(after: earlier, at: now) else { return .fail }
        } else {
            guard start.isUnderWay || beginIfAllowed(at: now) else { return .fail }
        }
        guard !start.isUnderWay, let expiresAt, expiresAt <= now else { return nil }
        expire()
        return .expire
    }

    /// Gives back a claimed job that a hold covers, or all jobs. Then the storage sets the state
    /// (``updateState(at:isCovered:)``).
    public mutating func giveBack(at now: QueueTime) { apply(.notBegun, at: now, draw: 0) }

    /// Sets the state of a job whose claim the last check has ended.
    ///
    /// - Returns: the transition: that of the check, or `hold` for a job that was given back and is held.
    package mutating func updateState<Failure: Error>(
        after verb: ReplayTransition.Verb, at now: QueueTime, isCovered: (ReplayRow) throws(Failure) -> Bool
    ) throws(Failure) -> ReplayTransition.Verb {
        let isGivenBack = reason == .returned && verb == .fail
        try updateState(at: now, isCovered: isCovered)
        guard isGivenBack, state == .held else { return verb }
        reason = .held
        return .hold
    }

    /// Notes that an attempt begins. This is no transition: the job runs already. If no pause has interrupted an earlier
    /// exchange, the attempt counts from the start of that.
    public mutating func begin(_ start: ReplayStart, at now: QueueTime) {
        let isPaused = start.earlier?.isPaused ?? false
        let first = start.earlier.map { min($0.sentAt, now) }
        sentAt = isPaused ? now : first ?? now
        unknownSince = unknownSince ?? (isPaused ? first : nil)
    }

    /// Changes the job by the result of sending it. Then the storage sets the state (``updateState(at:isCovered:)``).
    ///
    /// - Parameters:
    ///   - report: the result of sending the job.
    ///   - now: the current time.
    ///   - wasUndecodable: whether an earlier attempt has failed with the same code. Called only for a request that
    ///     cannot be decoded.
    /// - Returns: the failure to add to the job's history; `nil` for none.
    public mutating func finish<Failure: Error>(
        _ report: ReplayReport, at now: QueueTime, wasUndecodable: (_ code: String) throws(Failure) -> Bool
    ) throws(Failure) -> ReplayDraft.History.Failure? {
        let startedAt = sentAt ?? now
        // The time was noted by the wall clock, which may have been set meanwhile.
        unknownSince = unknownSince ?? report.unknownSince.map { min(max($0, sentAt ?? $0), now) }
        if case .failed(.undecodable, let code, _) = report.outcome { self.wasUndecodable = try wasUndecodable(code) }
        apply(report.outcome, at: now, draw: report.draw)
        if report.isDelivered() { endAsDelivered() }
        guard let failure = report.outcome.failure, reason != .returned else { return nil }
        return ReplayDraft.History.Failure(startedAt: startedAt, code: failure.code, message: failure.message)
    }
}
