import DiamondSQLite

/// Has credentials made anew after a 401: each once for all who wait for it, and not again for one who was sent with what
/// has been replaced meanwhile.
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
        /// The number of the refresh that has made it; 0 for none.
        var refresh = 0
        var run: Run?
    }

    private struct State {
        // One that is being made must not be forgotten, or it would be made twice: some servers take both back then.
        var records = RecentlyUsed<Secret, Record>(isInUse: { $0.run != nil }) { Record() }
        /// The number of refreshes that have made a credential.
        var count = 0
        var running: [Int: Run] = [:]
        var begun = 0
        var isClosed = false
    }

    /// The secrets that are being made by the task that reads this.
    @TaskLocal static var making: Set<Secret> = []

    private let state = Guarded(State())
    private let provider: any RefreshableCredentialProvider
    private let clock: ExchangeClock

    init(_ provider: any RefreshableCredentialProvider, _ clock: ExchangeClock) {
        self.provider = provider
        self.clock = clock
    }

    /// The number of successful refreshes so far. The caller notes it when the secrets are filled in, for
    /// ``refresh(_:since:)``.
    var count: Int { state.withLock { $0.count } }

    /// Whether a request is sent by what makes its own secrets, and would wait for itself. What that has only begun may
    /// outlive it, and waits as everybody does.
    func isMaking(_ wire: WireRequest) -> Bool {
        let own = Self.making.isEmpty ? [] : Self.making.intersection(wire.secrets)
        guard !own.isEmpty else { return false }
        let now = clock.uptime()
        return state.withLock { state in
            own.contains { secret in state.records.withValue(of: secret, at: now) { $0.run != nil } }
        }
    }

    /// Whether each of a request's secrets is newer already, is being made, or may be made.
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

    /// Returns when the request's secrets are newer than they were.
    ///
    /// - Throws: `noCredential` where they cannot be made, `cancelled` with the waiting task; they are made all the same.
    func refresh(_ wire: WireRequest, since count: Int) async throws(ConnectionError) {
        for run in runs(for: wire, since: count) {
            let outcome = Promise<Result<Void, any Error>?>()
            Task { outcome.fulfill(with: await run.result) }
            guard let outcome = await outcome.value(whenCanceled: { nil }) else { throw .cancelled }
            do { try outcome.get() } catch {
                let message = "the credential could not be made anew after status 401: sign in again, or see the cause"
                throw ConnectionError(.noCredential, message, cause: error)
            }
        }
    }

    /// Returns the running refreshes of its secrets, and one new refresh for the rest.
    private func runs(for wire: WireRequest, since count: Int) -> Set<Run> {
        let now = clock.uptime()
        let (runs, isClosed) = state.withLock { state -> (Set<Run>, Bool) in
            var (runs, due) = (Set<Run>(), Set<Secret>())
            for secret in wire.secrets {
                state.records.withValue(of: secret, at: now) { record in
                    guard record.refresh <= count else { return }
                    if let run = record.run {
                        runs.insert(run)
                    } else if record.limit.begin(at: now) {
                        due.insert(secret)
                    }
                }
            }
            if !due.isEmpty { runs.insert(begin(due, for: wire.identity, &state, at: now)) }
            return (runs, state.isClosed)
        }
        // Behind the lock: what they call may be the app's.
        if isClosed { for run in runs { run.cancel() } }
        return runs
    }

    private func begin(_ due: Set<Secret>, for identity: String?, _ state: inout State, at now: Int64) -> Run {
        // Also what the one who asks is making, which would wait for this.
        let making = due.union(Self.making)
        state.begun += 1
        let number = state.begun
        // It takes the lock to end, and so cannot before it is entered here.
        let run = Run.detached { [self] in
            do {
                try await Self.$making.withValue(making) {
                    // A shared exchange may wait for it, or come to.
                    try await Hook.run(isInFlight: true) {
                        try await provider.refreshSecrets(Set(due.map(\.name)), for: identity)
                    }
                }
            } catch {
                end(number, due, isNew: false)
                throw error
            }
            end(number, due, isNew: true)
        }
        for secret in due { state.records.withValue(of: secret, at: now) { $0.run = run } }
        state.running[number] = run
        return run
    }

    private func end(_ number: Int, _ secrets: Set<Secret>, isNew: Bool) {
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

    /// Cancels those that are under way, and those that come.
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
