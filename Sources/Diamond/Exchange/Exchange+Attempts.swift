import HTTPTypes

/// Doing one attempt, or two beside each other.
extension Exchange {
    /// An attempt that is about to begin.
    struct Launch: Sendable {
        let number: Int
        let transfer: Transfer
        let limit: ExchangeAttempt.Limit?

        func attempt() async -> ExchangeAttempt {
            let order = transfer.order
            let token = order.scope.begin(.attempt, attempt: number)
            let attempt = await ExchangeAttempt(transfer, limit: limit)
            token.end(attempt.ending)
            transfer.wire.repetitions.note(attempt.outcome, of: transfer.admission, from: order.origin)
            return attempt
        }
    }

    /// - Parameters:
    ///   - number: of the attempt.
    ///   - incomplete: what was received before: only the rest is asked for.
    ///   - keeper: keeps what it receives.
    ///   - isBeside: whether another attempt is on the wire.
    func launch(
        _ number: Int,
        behind incomplete: IndirectOptional<PartialResponse> = .none,
        keeper: (any ResumeWriting)? = nil,
        isBeside: Bool = false
    ) async throws(ConnectionError) -> Launch {
        // Before its cookies are read: a session that ends from now on is not begun again by the answer.
        let removals = wire.cookies?.removals
        let outgoing = outgoing(behind: incomplete)
        guard wire.interceptors.isEmpty, order.gate == nil else {
            return try await launchAside(number, outgoing, behind: incomplete, keeper, isBeside: isBeside, removals)
        }
        return try launch(number, outgoing, spent: .zero, behind: incomplete, keeper, removals)
    }

    /// Launches an attempt for which interceptors or a gate are asked.
    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    private func launchAside(
        _ number: Int,
        _ outgoing: ExchangeOptions.AdaptedRequest,
        behind incomplete: IndirectOptional<PartialResponse>,
        _ keeper: (any ResumeWriting)?,
        isBeside: Bool,
        _ removals: Int?
    ) async throws(ConnectionError) -> Launch {
        let (adapted, spent) =
            wire.interceptors.isEmpty ? (outgoing, .zero) : try await adapted(outgoing, number)
        // What has blocked its thread comes back late: nothing is to leave.
        let isLate = spent > .zero && order.policy.attemptLimit(elapsed: elapsed, after: spent) == .zero
        guard !isLate else { throw ConnectionError(outOfTime: history.mayHaveArrived) }
        let launch = try launch(number, adapted, spent: spent, behind: incomplete, keeper, removals)
        guard let gate = order.gate else { return launch }
        // Last: what it lets pass counts as sent.
        try await pass(gate, isBeside: isBeside, with: launch.transfer.admission)
        return Launch(number: number, transfer: launch.transfer, limit: limit(after: spent))
    }

    @inline(never)
    private func launch(
        _ number: Int,
        _ outgoing: ExchangeOptions.AdaptedRequest,
        spent: Duration,
        behind incomplete: IndirectOptional<PartialResponse>,
        _ keeper: (any ResumeWriting)?,
        _ removals: Int?
    ) throws(ConnectionError) -> Launch {
        // What the app does in between may take its time, and nothing has left yet.
        try askToBegin()
        if outgoing.isPersonal { order.hear(.personal) }
        let transfer = try transfer(outgoing, behind: incomplete, keeper, removals)
        return Launch(number: number, transfer: transfer, limit: limit(after: spent))
    }

    private func limit(after spent: Duration) -> ExchangeAttempt.Limit? {
        order.policy.attemptLimit(elapsed: elapsed, after: spent).map { .init(rest: $0, spent: spent) }
    }

    private func pass(
        _ gate: SendGate, isBeside: Bool, with admission: CircuitBreaker.Admission
    ) async throws(ConnectionError) {
        do throws(ConnectionError) {
            try await gate.pass(isBeside: isBeside)
            do throws(ConnectionError) { try askToBegin() } catch {
                gate.takeBack()
                throw error
            }
        } catch {
            // Whoever is to prove the server well has not asked it.
            repetitions.note(.failed(.cancelled(requestMayHaveBeenSent: false)), of: admission, from: order.origin)
            throw error
        }
    }

    private func outgoing(behind incomplete: IndirectOptional<PartialResponse>) -> ExchangeOptions.AdaptedRequest {
        // The rest, where something is here: a signature may cover the range.
        var outgoing = incomplete.value?.requestForRest(of: request) ?? request
        outgoing.needsNewConnection = history.needsNewConnection
        return order.withCookies(outgoing, of: wire)
    }

    /// - Returns: the time that it took, too, which is of the attempt's.
    private func adapted(
        _ outgoing: ExchangeOptions.AdaptedRequest,
        _ number: Int
    ) async throws(ConnectionError) -> (ExchangeOptions.AdaptedRequest, spent: Duration) {
        let begin = elapsed
        let limit = order.policy.attemptLimit(elapsed: begin)
        let left = RemainingTime(limit, among: repetitions.waits, isUnderWay: history.mayHaveArrived)
        let adapted = try await left.value { [order, wire] () async throws(ConnectionError) in
            try await order.adapted(outgoing, by: wire, attempt: number)
        }
        return (adapted, elapsed - begin)
    }

    private func transfer(
        _ outgoing: ExchangeOptions.AdaptedRequest,
        behind incomplete: IndirectOptional<PartialResponse>,
        _ keeper: (any ResumeWriting)?,
        _ removals: Int?
    ) throws(ConnectionError) -> Transfer {
        let admission = repetitions.admit(to: order.origin)
        if case .refused(let wait) = admission { throw ConnectionError(circuitOpenFor: wait, request) }
        return Transfer(
            outgoing, of: order, removals: removals, before: incomplete, keeper: keeper, history: history,
            admission: admission, over: wire)
    }

    /// - Parameters:
    ///   - delay: after which another attempt begins.
    ///   - number: of that.
    ///   - spare: takes a place for it, and gives it back.
    /// - Returns: the attempt that counts, and the other where there was one.
    func hedged(
        _ first: Launch,
        after delay: Duration,
        beside number: Int,
        _ spare: @escaping LanePermit.Spare
    ) async -> (attempt: ExchangeAttempt, other: ExchangeAttempt?) {
        let hedge = Hedge(delay: delay, clock: repetitions.clock) { [statuses = order.policy.statuses] attempt in
            attempt.isAnswer(unless: statuses)
        }
        return await hedge.race {
            await first.attempt()
        } beside: {
            guard let leave = spare() else { return nil }
            defer { leave() }
            guard repetitions.withdraw(from: order.origin) else { return nil }
            guard let second = try? await launch(number, isBeside: true) else {
                repetitions.refund(to: order.origin)
                return nil
            }
            let attempt = await second.attempt()
            // Whoever watches the bytes sees those of the one that counts.
            if hedge.isAnswer(attempt) { order.hear(.began(second.transfer.meter)) }
            return attempt
        }
    }
}

extension ExchangeOptions {
    /// After which another attempt begins; `nil` for never, also where two at the same time would do harm, or cost much.
    var hedgeDelay: Duration? {
        guard let delay = policy.hedgeDelay, case .none = request.body, pouring == nil, request.method.isSafe else {
            return nil
        }
        return delay
    }
}

extension ConnectionError {
    fileprivate init(circuitOpenFor wait: Duration, _ request: TransportRequest) {
        let message =
            "most requests to \(request.originText) failed lately, and none is sent for \(wait.milliseconds) ms"
        self.init(.circuitOpen, message)
    }
}
