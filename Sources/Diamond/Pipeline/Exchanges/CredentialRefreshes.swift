import DiamondSQLite

/// Refreshes credentials after a 401, each once for all exchanges that wait for it. A request that was sent with an
/// older credential than the current one needs no refresh.
final class CredentialRefreshes: Sendable {
    private typealias Run = Task<Void, any Error>

    struct Secret: Hashable {
        var name: String
        var identity: String?

        static func == (one: Secret, other: Secret) -> Bool {
            one.name.isExactly(other.name) && one.identity.isExactly(other.identity)
        }
    }

    private struct Record {
        var limit = RefreshLimit()
        /// The number of the refresh that has replaced the secret last; 0 for none.
        var refresh = 0
        var run: Run?
    }

    private struct State {
        // The record of a running refresh must not be evicted: the secret would be refreshed twice, and some servers
        // then revoke both.
        var records = RecentlyUsed<Secret, Record>(isInUse: { $0.run != nil }) { Record() }
        /// The number of successful refreshes.
        var count = 0
        var running: [Int: Run] = [:]
        var begun = 0
        var isClosed = false

        /// Returns the running refreshes of secrets, and those of the secrets that have to be refreshed.
        mutating func needs(
            of secrets: Set<Secret>, since count: Int, at now: EngineTime
        ) -> (runs: Set<Run>, outdated: Set<Secret>) {
            var runs = Set<Run>()
            var outdated = Set<Secret>()
            for secret in secrets {
                records.withValue(of: secret, at: now) { record in
                    guard record.refresh <= count else { return }
                    if let run = record.run {
                        runs.insert(run)
                    } else if record.limit.beginIfAllowed(at: now) {
                        outdated.insert(secret)
                    }
                }
            }
            return (runs, outdated)
        }
    }

    /// The secrets that the current task refreshes.
    @TaskLocal static var currentSecrets: Set<Secret> = []

    private let state = Guarded(State())
    private let provider: any RefreshableCredentialProvider
    private let clock: ExchangeClock

    init(_ provider: any RefreshableCredentialProvider, clock: ExchangeClock) {
        self.provider = provider
        self.clock = clock
    }

    /// The number of successful refreshes so far. The caller notes it when the secrets are filled in, for
    /// ``refresh(_:since:)``.
    var count: Int { state.withLock { $0.count } }

    /// Whether a request is sent by the running refresh of its own secrets, and would wait for itself. A task that such
    /// a refresh has started may outlive it, and then waits like every other.
    func isRefreshing(_ wire: WireRequest) -> Bool {
        let own = Self.currentSecrets.isEmpty ? [] : Self.currentSecrets.intersection(wire.secrets)
        guard !own.isEmpty else { return false }
        let now = clock.uptime()
        return state.withLock { state in
            own.contains { secret in state.records.withValue(of: secret, at: now) { $0.run != nil } }
        }
    }

    /// Whether each of a request's secrets is newer already, is being refreshed, or may be refreshed.
    func allows(_ wire: WireRequest, since count: Int) -> Bool {
        let now = clock.uptime()
        return state.withLock { state in
            wire.secrets.allSatisfy { secret in
                state.records.withValue(of: secret, at: now) { record in
                    record.refresh > count || record.run != nil || record.limit.allows(at: now)
                }
            }
        }
    }

    /// Waits until the request's secrets are newer.
    ///
    /// - Parameter count: the ``count`` when the secrets were filled in.
    /// - Throws: `noCredential` if a refresh fails, `cancelled` with the waiting task; the refresh continues then.
    func refresh(_ wire: WireRequest, since count: Int) async throws(ConnectionError) {
        for run in runs(for: wire, since: count) {
            guard let outcome = await run.outcome() else { throw .cancelled }
            do { try outcome.get() } catch {
                let message = "the credential could not be renewed after status 401: sign in again, or see the cause"
                throw ConnectionError(.noCredential, message, cause: error)
            }
        }
    }

    /// Returns the running refreshes of its secrets, and one new refresh for the rest.
    private func runs(for wire: WireRequest, since count: Int) -> Set<Run> {
        let now = clock.uptime()
        let (runs, isClosed) = state.withLock { state -> (runs: Set<Run>, isClosed: Bool) in
            var (runs, outdated) = state.needs(of: wire.secrets, since: count, at: now)
            if !outdated.isEmpty { runs.insert(begin(outdated, for: wire.identity, in: &state, at: now)) }
            return (runs, state.isClosed)
        }
        // Outside the lock: cancellation handlers may be code of the app.
        if isClosed { for run in runs { run.cancel() } }
        return runs
    }

    private func begin(_ secrets: Set<Secret>, for identity: String?, in state: inout State, at now: EngineTime) -> Run
    {
        // Includes the secrets that the calling task refreshes, because that refresh waits for this one.
        let current = secrets.union(Self.currentSecrets)
        state.begun += 1
        let number = state.begun
        // The end of the run needs the lock, so the run cannot end before it is recorded.
        let run = Run.detached { [self] in
            do {
                try await Self.$currentSecrets.withValue(current) { try await refresh(secrets, for: identity) }
            } catch {
                end(number, of: secrets, isNew: false)
                throw error
            }
            end(number, of: secrets, isNew: true)
        }
        for secret in secrets { state.records.withValue(of: secret, at: now) { $0.run = run } }
        state.running[number] = run
        return run
    }

    private func refresh(_ secrets: Set<Secret>, for identity: String?) async throws {
        // A shared exchange may wait for it, now or later.
        try await Hook.run(isInFlight: true) {
            try await provider.refreshSecrets(Set(secrets.map(\.name)), for: identity)
        }
    }

    private func end(_ number: Int, of secrets: Set<Secret>, isNew: Bool) {
        let now = clock.uptime()
        state.withLock { state in
            state.running[number] = nil
            if isNew { state.count += 1 }
            let count = state.count
            for secret in secrets {
                state.records.withValue(of: secret, at: now) { record in
                    record.run = nil
                    if isNew { record.refresh = count }
                }
            }
        }
    }

    /// Cancels all refreshes, running and later ones.
    func close() {
        let runs = state.withLock { state in
            state.isClosed = true
            return Array(state.running.values)
        }
        for run in runs { run.cancel() }
    }
}

extension WireRequest {
    fileprivate var secrets: Set<CredentialRefreshes.Secret> {
        Set(namedCredentials.compactMap(\.secret.name).map { .init(name: $0, identity: identity) })
    }
}
