import HTTPTypes

/// Doing one attempt, or two beside each other.
extension Exchange {
    /// An attempt that is about to begin.
    struct Launch: Sendable {
        let number: Int
        let transfer: Transfer
        /// How long it may take.
        let limit: Duration?
        let admission: CircuitBreaker.Admission
    }

    /// - Parameters:
    ///   - number: of the attempt.
    ///   - incomplete: what was received before: only the rest is asked for.
    ///   - keeper: keeps what it receives.
    func launch(
        _ number: Int,
        behind incomplete: IncompleteArrival? = nil,
        keeper: (any PartialKeeping)? = nil
    ) async throws(ConnectionError) -> Launch {
        // Before its cookies are read: a session that ends from now on is not begun again by the answer.
        let removals = wire.cookies?.removals(of: order.identity)
        // The rest, where something is here: a signature may cover the range.
        let outgoing = incomplete?.rest(of: order.request) ?? order.request
        let (request, isPersonal) = try await order.adapted(outgoing, for: wire, attempt: number)
        let admission = repetitions.admit(to: order.origin)
        if case .refused(let wait) = admission { throw ConnectionError(circuitOpenFor: wait, order.request) }
        let transfer = Transfer(
            request: request, identity: order.identity, removals: removals, isPersonal: isPersonal,
            isContinuable: order.isContinuable, before: incomplete, keeper: keeper, bodyLimit: order.bodyLimit,
            pouring: order.pouring, history: history, admission: admission, wire: wire, meter: TransferMeter(request))
        let limit = order.policy.attemptLimit(elapsed: elapsed)
        return Launch(number: number, transfer: transfer, limit: limit, admission: admission)
    }

    func run(_ launch: Launch) async -> ExchangeAttempt {
        let token = order.scope.begin(.attempt, attempt: launch.number)
        let attempt = await ExchangeAttempt(launch.transfer, limit: launch.limit)
        token.end(attempt.ending)
        repetitions.note(attempt.outcome, of: launch.admission, from: order.origin)
        return attempt
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
        _ spare: @escaping Seat.Spare
    ) async -> (attempt: ExchangeAttempt, other: ExchangeAttempt?) {
        let hedge = Hedge(delay: delay, clock: repetitions.clock) { [statuses = order.policy.statuses] attempt in
            attempt.isAnswer(unless: statuses)
        }
        return await hedge.race {
            await run(first)
        } beside: {
            guard let leave = spare() else { return nil }
            defer { leave() }
            guard repetitions.withdraw(from: order.origin), let second = try? await launch(number) else { return nil }
            let attempt = await run(second)
            // Whoever watches the bytes sees those of the one that counts.
            if hedge.isAnswer(attempt) { order.hear(.began(second.transfer.meter)) }
            return attempt
        }
    }
}

extension ExchangeOrder {
    /// Whether two of it at the same time do no harm, and cost little.
    var isHedgeable: Bool {
        guard case .none = request.body, pouring == nil else { return false }
        return request.method.isSafe
    }
}

extension ConnectionError {
    fileprivate init(circuitOpenFor wait: Duration, _ request: TransportRequest) {
        let message = "most requests to \(request.place) failed lately, and none is sent for \(wait.milliseconds) ms"
        self.init(.circuitOpen, message)
    }
}
