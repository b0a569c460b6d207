import DiamondSQLite

/// The circuit in front of a storage on a server. The first failure opens it: verbs then fail at once. After a delay,
/// exponential with full jitter, one probe is made. No request waits for it. Its success closes the circuit.
final class StorageCircuit: Sendable {
    private enum State {
        case closed
        /// Open until a time. The probe after it is the one with this number.
        case open(until: Uptime, probe: Int)
        case probing(Int)
    }

    /// The answer to a verb.
    enum Admission: Equatable {
        case pass
        case refuse
        /// The verb is refused, and its caller starts a probe.
        case probe(Int)
    }

    private let backoff = Backoff(.storage)
    private let uptime: @Sendable () -> Uptime
    private let draw: @Sendable () -> Double
    private let state = Guarded(State.closed)

    /// - Parameters:
    ///   - uptime: returns the current time.
    ///   - draw: returns a random number from 0 up to 1.
    init(
        uptime: @escaping @Sendable () -> Uptime = { .now },
        draw: @escaping @Sendable () -> Double
    ) {
        self.uptime = uptime
        self.draw = draw
    }

    /// Whether verbs are admitted.
    var isClosed: Bool { state.withLock { if case .closed = $0 { true } else { false } } }

    /// Admits or refuses a verb.
    func admit() -> Admission {
        state.withLock { state in
            switch state {
            case .closed: return .pass
            case .open(let end, let probe) where uptime() >= end:
                state = .probing(probe)
                return .probe(probe)
            case .open, .probing: return .refuse
            }
        }
    }

    /// Notes that a verb which was admitted has failed, because the server is out of reach.
    ///
    /// - Returns: whether the circuit was closed until now.
    func fail() -> Bool {
        state.withLock { state in
            guard case .closed = state else { return false }
            state = .open(until: delayEnd(of: 0), probe: 1)
            return true
        }
    }

    /// Ends a probe with its outcome.
    func end(probe: Int, isGood: Bool) {
        state.withLock { state in
            guard case .probing(probe) = state else { return }
            state = isGood ? .closed : .open(until: delayEnd(of: probe), probe: probe + 1)
        }
    }

    private func delayEnd(of probe: Int) -> Uptime { uptime() + backoff.delay(probe, draw: draw()) }
}

extension RetryPolicy {
    /// The delays between the probes of a server: up to 200 ms before the first, up to 5 seconds later.
    fileprivate static let storage: RetryPolicy = {
        var policy = RetryPolicy(baseDelay: .milliseconds(200))
        policy.maxDelay = .seconds(5)
        return policy
    }()
}
