import HTTPTypes

/// The third stage among processes: one of them sends a request, and the others wait for what it stores.
///
/// The process that sends has a lease on the cache's server. It ends the lease when the response is stored there, or
/// when there is none to store. The server ends it after ``limit``. A process without the lease waits for its end, at
/// most as long, and looks up again. If the response is still missing, it sends the request itself.
///
/// The requests are those of ``ExchangeSharing``, with the method GET and no condition of their own. A request whose last
/// response could not have been served to other processes neither waits nor takes a lease.
final class FleetSharing: Sendable {
    /// The longest life of a lease, and the longest wait for its end.
    static let limit = Duration.seconds(5)
    /// The times between two looks at a lease: the first, and the longest.
    private static let pauses = (first: Duration.milliseconds(5), longest: Duration.milliseconds(50))

    /// The end of leases, which requests do not wait for.
    let ends = TaskSet<Never>()
    private let cache: Cache
    private let server: RemoteCacheStorage
    private let lookup: CacheLookup
    private let time: RequestTime
    /// The keys of the requests whose last response could not have been served to other processes.
    private let unshared = UnsharedKeys()

    /// - Returns: `nil` if the cache's storage has no leases.
    init?(lookup: CacheLookup, time: RequestTime) {
        guard let cache = lookup.cache, let server = cache.storage as? RemoteCacheStorage, server.leasing != nil else {
            return nil
        }
        self.cache = cache
        self.server = server
        self.lookup = lookup
        self.time = time
    }

    /// The turn of this process to send a request.
    ///
    /// It is a class, because each shared exchange has one in its async frame.
    final class Turn: Sendable {
        /// Whether the response was stored meanwhile, so that the request is not sent.
        let isSuperseded: Bool
        private let key: RequestKey
        /// The lease; `nil` if another process has it.
        private let lease: CacheLease?
        private let fleet: FleetSharing

        fileprivate init(_ lease: CacheLease, isOwn: Bool, isSuperseded: Bool, in fleet: FleetSharing) {
            key = lease.key
            self.lease = isOwn ? lease : nil
            self.isSuperseded = isSuperseded
            self.fleet = fleet
        }

        /// Notes that the request is about to be sent. Until a response is stored, there is none for other processes.
        func begin() { fleet.unshared.insert(key) }

        /// Notes the outcome of the exchange. A failure says nothing about the next response.
        func note(_ outcome: ExchangeOutcome) {
            if case .response = outcome.ending { return }
            fleet.unshared.remove(key)
        }

        /// Ends the lease, after the response is stored on the server.
        func end() {
            guard let lease else { return }
            fleet.ends.add { [cache = fleet.cache, server = fleet.server] in
                await cache.flush()
                await server.end(lease)
            }
        }
    }

    /// Returns the turn to send a request, after a wait for the process that sends an equal one.
    ///
    /// - Returns: `nil` if the request is sent in any case.
    /// - Throws: `timedOut` if the request has no time left.
    @inline(never)
    func turn(of plan: ExchangePlan) async throws(ConnectionError) -> Turn? {
        guard plan.mayBeSuperseded, plan.isShareable, let lease = lease(on: plan), !unshared.contains(lease.key) else {
            return nil
        }
        let rest = try time.policy(of: plan.context.resolved, since: plan.timeStart).deadline
        guard let isOwn = await server.take(lease, for: Self.limit) else { return nil }
        if !isOwn { await wait(for: lease, within: min(Self.limit, rest ?? Self.limit)) }
        // Also with the lease: another process may have stored the response after the lookup.
        return Turn(lease, isOwn: isOwn, isSuperseded: await isStored(for: plan), in: self)
    }

    /// Returns a lease for a plan. Its name has what the callers of a shared exchange have in common: for clients of a
    /// gateway the fields by which most servers select a response, otherwise all that are sent.
    private func lease(on plan: ExchangePlan) -> CacheLease? {
        guard let identity = plan.context.identity else { return nil }
        let fields = plan.request.headers.filter {
            !lookup.isGateway || SharedStreamKey.negotiation.contains($0.name)
        }
        let text = fields.map { "\($0.name.canonicalName):\($0.byteText)" }.joined(separator: "\n")
        return CacheLease(on: identity.key, name: String(cache.rules.digest(of: text.utf8).prefix(16)))
    }

    /// Waits until a lease has ended, the server does not answer, or the time is up.
    private func wait(for lease: CacheLease, within limit: Duration) async {
        _ = await time.waits.value(within: limit) { [server, clock = time.clock] in
            var pause = Self.pauses.first
            while await server.isTaken(lease), (try? await clock.sleep(pause)) != nil {
                pause = min(pause * 2, Self.pauses.longest)
            }
        }
    }

    /// Whether a response that can be served is stored, by this or another process.
    private func isStored(for plan: ExchangePlan) async -> Bool {
        cache.applyOtherProcessesChanges(isDue: true)
        let loaded = await lookup.load(for: plan.context)
        defer { withExtendedLifetime(loaded) {} }
        if case .serve = lookup.step(for: plan.context, ignoresStored: false) { return true }
        return false
    }

    /// Notes a stored response to a request.
    func note(_ stored: StoredResponse, to plan: ExchangePlan) {
        let resolved = plan.context.resolved
        guard let key = resolved.identity?.key, case .serve = lookup.decision(on: stored, for: resolved) else { return }
        unshared.remove(key)
    }
}
