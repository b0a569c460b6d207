import Foundation

extension Pipeline {
    /// The pipeline of an engine.
    convenience init(
        _ configuration: Engine.Configuration,
        _ transport: any Transport,
        _ cache: Cache?,
        _ lanes: Lanes,
        _ activity: Activity
    ) {
        let now = configuration.now
        let repetitions = RetryCoordinator(
            clock: ExchangeClock(configuration.clock),
            budget: configuration.retryBudget,
            circuit: configuration.circuit,
            draw: configuration.draw
        )
        let environment = configuration.environment(cache?.rules ?? KeyRules())
        let provider = configuration.credentials as? any RefreshableCredentialProvider
        self.init(
            wire: Exchange.Wire(
                transport: transport,
                now: { now().milliseconds },
                bodyLimit: configuration.bodyLimit,
                repetitions: repetitions,
                interceptors: configuration.interceptors,
                cookies: configuration.cookies
            ),
            activity: activity,
            cache: cache,
            lanes: lanes,
            environment: environment,
            retry: configuration.retry,
            credentialRefreshes: provider.map { CredentialRefreshes($0, repetitions.clock) },
            redirectLimit: max(0, configuration.redirectLimit),
            replays: configuration.store.map { Self.queuePlace($0, configuration, environment, activity, lanes) },
            reachability: configuration.reachability ?? SystemReachability.shared
        )
    }

    private static func queuePlace(
        _ store: Store,
        _ configuration: Engine.Configuration,
        _ environment: Environment,
        _ activity: Activity,
        _ lanes: Lanes
    ) -> JobSlot {
        let (now, draw) = (configuration.now, configuration.draw)
        var clock = ReplayClock.system
        clock.now = { now().milliseconds }
        (clock.uptime, clock.sleep, clock.draw) = (configuration.uptime, configuration.clock, draw)
        clock.endTimeout = configuration.patience
        return JobSlot(store.replayPath) { [clock] () throws(ReplayError) in
            let queue = try ReplayQueue(store, clock: clock, activity: activity, rules: environment.rules) {
                try await environment.resolve($0)
            }
            queue.watchHolds { lanes.keep(to: LanePauses($0)) }
            return queue
        }
    }
}
