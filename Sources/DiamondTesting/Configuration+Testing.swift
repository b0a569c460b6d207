public import Diamond
import Foundation
import HTTPTypes

/// A network that is always available.
private struct ConstantReachability: Reachability {
    let isReachable = true
}

extension Engine.Configuration {
    /// Creates the configuration of an engine for tests, with a clock that only the test advances.
    ///
    /// Requests are not retried, because a retry would wait for the clock. Set ``Engine/Configuration/retry`` to test
    /// retries.
    ///
    /// - Parameter store: `nil` for an engine without a cache.
    public init(testing transport: any Transport, clock: TestClock = TestClock(), store: TemporaryStore? = nil) {
        self.init(store: store?.store)
        self.transport = transport
        self.clock = clock
        // Retains the store, whose directory is needed as long as the engine.
        now = { withExtendedLifetime(store) { clock.date } }
        // The queue waits by the test's clock, too.
        uptime = { clock.uptime }
        retry = .never
        // Independent of the machine's network.
        reachability = ConstantReachability()
        // Independent of the machine's languages.
        headers = [.userAgent: "Diamond"]
    }
}
