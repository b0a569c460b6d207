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
        let repetitions = Repetitions(
            clock: ExchangeClock(configuration.clock), circuit: configuration.circuit, draw: configuration.draw)
        let provider = configuration.credentials as? any RefreshableCredentialProvider
        self.init(
            wire: Exchange.Wire(
                transport: transport,
                now: { Int64(now().timeIntervalSince1970 * 1000) },
                bodyLimit: configuration.bodyLimit,
                repetitions: repetitions,
                interceptors: configuration.interceptors,
                cookies: configuration.cookies
            ),
            activity: activity,
            cache: cache,
            lanes: lanes,
            environment: configuration.environment(cache?.rules ?? KeyRules()),
            retry: configuration.retry,
            credentialRefreshes: provider.map { CredentialRefreshes($0, repetitions.clock) },
            redirectLimit: max(0, configuration.redirectLimit)
        )
    }
}
