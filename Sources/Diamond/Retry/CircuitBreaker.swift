/// Lets nothing through to an origin where most exchanges fail, until a single one has proven it well again (Nygard,
/// *Release It!*). Off unless an app asks for it.
///
/// | | admit | good | bad | after the open time |
/// |---|---|---|---|---|
/// | closed | pass | counts | counts; opens where the policy says so | – |
/// | open | refuse | – | – | half open |
/// | half open, no probe | one probe | – | – | – |
/// | half open, probing | refuse | of the probe: closes | of the probe: opens | another probe |
///
/// Outcomes of exchanges that began before it opened change nothing while it is open, nor do those of a probe behind which
/// another was let through. Times are milliseconds of a clock that only goes forward.
struct CircuitBreaker: Hashable, Sendable {
    enum Admission: Hashable, Sendable {
        case pass
        /// It passes, and its outcome decides where it is the last.
        case probe(Int)
        /// Nothing is sent; the next look is worth while after `wait`.
        case refused(wait: Duration)
    }

    private enum State: Hashable {
        case closed
        /// Until then; afterwards half open.
        case open(until: Int64)
        /// A probe is out. One that is never heard of again is given up then.
        case probing(Int, until: Int64)
    }

    private let policy: CircuitPolicy
    private var state = State.closed
    /// Let through so far.
    private var probes = 0
    private var calls: SlidingSum
    private var failures: SlidingSum

    init(_ policy: CircuitPolicy = CircuitPolicy()) {
        self.policy = policy
        calls = SlidingSum(milliseconds: policy.window.milliseconds)
        failures = SlidingSum(milliseconds: policy.window.milliseconds)
    }

    /// Whether it refuses now; asks without being admitted.
    func isOpen(at now: Int64) -> Bool { end.map { now < $0 } ?? false }

    /// To be asked before every exchange; what is not refused has to be told with ``note(_:of:at:)`` when it has ended.
    mutating func admit(at now: Int64) -> Admission {
        guard let end else { return .pass }
        guard now >= end else { return .refused(wait: .milliseconds(end - now)) }
        probes += 1
        state = .probing(probes, until: now + policy.openTime.milliseconds)
        return .probe(probes)
    }

    mutating func note(_ health: ServerHealth, of admission: Admission, at now: Int64) {
        switch (state, admission) {
        case (.closed, .pass): count(health, at: now)
        case (.probing(let last, _), .probe(let number)) where number == last: settle(health, at: now)
        default: break
        }
    }

    private var end: Int64? {
        switch state {
        case .closed: nil
        case .open(let end), .probing(_, let end): end
        }
    }

    private mutating func count(_ health: ServerHealth, at now: Int64) {
        guard health != .unknown else { return }
        calls.add(1, at: now)
        failures.add(health == .bad ? 1 : 0, at: now)
        let (all, bad) = (calls.sum(at: now), failures.sum(at: now))
        guard health == .bad, all >= policy.minimumCalls, Double(bad) >= policy.failureShare * Double(all) else {
            return
        }
        open(at: now)
    }

    private mutating func settle(_ health: ServerHealth, at now: Int64) {
        switch health {
        case .good: state = .closed
        case .bad: open(at: now)
        // A probe that was canceled proves nothing: the next may try at once.
        case .unknown: state = .open(until: now)
        }
    }

    private mutating func open(at now: Int64) {
        state = .open(until: now + policy.openTime.milliseconds)
        calls.removeAll()
        failures.removeAll()
    }
}
