import Foundation

extension Pipeline {
    /// Creates the pipeline of an engine.
    convenience init(
        _ configuration: Engine.Configuration,
        transport: any Transport,
        cache: Cache?,
        lanes: Lanes,
        activity: Activity
    ) {
        let now = configuration.now
        let retryCoordinator = RetryCoordinator(
            clock: ExchangeClock(configuration.clock),
            budget: configuration.retryBudget,
            circuit: configuration.circuit,
            draw: configuration.draw
        )
        let environment = configuration.environment(cache?.rules ?? KeyRules())
        let provider = configuration.credentials as? any RefreshableCredentialProvider
        let exchangeEnvironment = ExchangeEnvironment(
            transport: transport,
            now: { WallTime(now()) },
            bodyLimit: configuration.bodyLimit,
            retryCoordinator: retryCoordinator,
            interceptors: configuration.interceptors,
            cookies: configuration.cookies,
            decoder: SharedDecoder(configuration.decoder)
        )
        self.init(
            exchangeEnvironment: exchangeEnvironment,
            lookup: CacheLookup(
                cache: cache,
                kind: configuration.cacheKind,
                targets: configuration.cacheTargets,
                rules: environment.rules,
                usesHTTPRules: configuration.identityPreset == .http,
                isGateway: environment.gateway != nil,
                activity: activity,
                now: exchangeEnvironment.now
            ),
            builder: RequestBuilder(
                environment: environment,
                refreshes: provider.map { CredentialRefreshes($0, clock: retryCoordinator.clock) },
                time: RequestTime(retry: configuration.retry, of: retryCoordinator)
            ),
            lanes: lanes,
            seal: configuration.seal,
            redirectLimit: max(0, configuration.redirectLimit),
            replays: Self.jobSlot(configuration, environment: environment, activity: activity, lanes: lanes),
            reachability: configuration.reachability ?? SystemReachability.shared
        )
    }

    /// Returns the queue; `nil` if it is the store's, and there is no store.
    private static func jobSlot(
        _ configuration: Engine.Configuration,
        environment: Environment,
        activity: Activity,
        lanes: Lanes
    ) -> JobSlot? {
        let now = configuration.now
        var clock = ReplayClock.system
        clock.now = { WallTime(now()) }
        clock.uptime = configuration.uptime
        clock.sleep = configuration.clock
        clock.draw = configuration.draw
        clock.endTimeout = configuration.cancellationTimeout
        let isAutomatic = configuration.replays == .automatically
        let (place, store) = (configuration.queue, configuration.store)
        guard place.name != nil || store != nil else { return nil }
        return JobSlot(place.name == nil ? store?.replayPath : nil) {
            [clock, seal = configuration.seal] (seals) throws(ReplayError) in
            let storage = try place.openStorage(of: store, seal: seal, seals: seals, clock: clock) { error in
                activity.report(.queueFailed(reason: error.message))
            }
            let queue = ReplayQueue(storage: storage, clock: clock, activity: activity, rules: environment.rules) {
                try await environment.resolve($0)
            }
            queue.watchHolds { lanes.setHeld(LanePauses($0)) }
            // The engine's own replayer begins a moment later.
            if isAutomatic { queue.noteReplayer() }
            return queue
        }
    }
}
