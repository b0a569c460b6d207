import HTTPTypes

/// Refuses exchanges with an origin where most have failed, until a probe succeeds (Nygard, *Release It!*). Off by
/// default.
///
/// | | admit | good | bad | after the open time |
/// |---|---|---|---|---|
/// | closed | pass | counts | counts; opens if the policy says so | – |
/// | open | refuse | – | – | half open |
/// | half open, no probe | one probe | – | – | – |
/// | half open, probing | refuse | of the probe: closes | of the probe: opens | another probe |
///
/// The outcome of an exchange that began before the breaker opened has no effect while it is open. Neither has the
/// outcome of a probe if another probe was admitted since. Times are milliseconds of a clock that only goes forward.
struct CircuitBreaker: Hashable, Sendable {
    enum Admission: Hashable, Sendable {
        case pass
        /// The exchange passes as a probe. Its outcome decides the state, unless a later probe was admitted.
        case probe(Int)
        /// Nothing is sent. The next exchange may be admitted after `wait`.
        case refused(wait: Duration)
    }

    private enum State: Hashable {
        case closed
        /// Open until a time, and half open afterwards.
        case open(until: EngineTime)
        /// A probe is under way. If its outcome is not noted until a time, another one is admitted.
        case probing(Int, until: EngineTime)
    }

    private let policy: CircuitPolicy
    private var state = State.closed
    /// The number of probes so far; the number of the last one.
    private var probes = 0
    private var calls: SlidingSum
    private var failures: SlidingSum

    init(_ policy: CircuitPolicy = CircuitPolicy()) {
        self.policy = policy
        calls = SlidingSum(milliseconds: policy.window.milliseconds)
        failures = SlidingSum(milliseconds: policy.window.milliseconds)
    }

    /// Whether it would refuse an exchange now.
    func isOpen(at now: EngineTime) -> Bool { end.map { now < $0 } ?? false }

    /// Admits or refuses an exchange; called before each. The outcome of an admitted one has to be noted with
    /// ``note(_:of:at:)``.
    mutating func admit(at now: EngineTime) -> Admission {
        guard let end else { return .pass }
        guard now >= end else { return .refused(wait: .milliseconds(end.milliseconds(since: now))) }
        probes += 1
        state = .probing(probes, until: now + policy.openTime)
        return .probe(probes)
    }

    /// Notes the outcome of an exchange.
    mutating func note(_ health: ServerHealth, of admission: Admission, at now: EngineTime) {
        switch (state, admission) {
        case (.closed, .pass): count(health, at: now)
        case (.probing(let last, _), .probe(let number)) where number == last: endProbe(health, at: now)
        default: break
        }
    }

    private var end: EngineTime? {
        switch state {
        case .closed: nil
        case .open(let end), .probing(_, let end): end
        }
    }

    private mutating func count(_ health: ServerHealth, at now: EngineTime) {
        guard health != .unknown else { return }
        calls.add(1, at: now)
        failures.add(health == .bad ? 1 : 0, at: now)
        let all = calls.sum(at: now)
        let bad = failures.sum(at: now)
        guard health == .bad, all >= policy.minimumCalls, Double(bad) >= policy.failureShare * Double(all) else {
            return
        }
        open(at: now)
    }

    private mutating func endProbe(_ health: ServerHealth, at now: EngineTime) {
        switch health {
        case .good: state = .closed
        case .bad: open(at: now)
        // A probe that was canceled proves nothing: the next may try at once.
        case .unknown: state = .open(until: now)
        }
    }

    private mutating func open(at now: EngineTime) {
        state = .open(until: now + policy.openTime)
        calls.removeAll()
        failures.removeAll()
    }
}

/// The health of a server, by the outcome of an exchange.
enum ServerHealth: Hashable, Sendable {
    case good, bad
    /// Unknown: the fault lies with the request, the caller or the network.
    case unknown

    /// The statuses of temporary failures, without 425 (RFC 8470), which rejects the way in which the request was sent.
    private static let badStatuses = RetryPolicy.default.statuses.subtracting([425])
    private static let badErrors: Set<TransportError.Code> = [
        .badResponse, .cannotConnect, .connectionLost, .timedOut, .tlsFailed, .truncatedBody,
    ]

    init(_ outcome: RetrySituation.AttemptResult) {
        switch outcome {
        case .answered(let status, _): self = Self.badStatuses.contains(status.code) ? .bad : .good
        case .failed(let error, _): self = Self.badErrors.contains(error.code) ? .bad : .unknown
        }
    }
}
