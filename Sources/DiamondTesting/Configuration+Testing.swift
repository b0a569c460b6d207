public import Diamond
import Foundation
import HTTPTypes

/// A network that is always available.
private struct ConstantReachability: Reachability {
    let isReachable = true
}

extension Engine.Configuration {
    /// Returns the configuration of an engine that sends nothing, with a clock that only advances when the test moves it.
    ///
    /// Nothing is sent again, because a retry would wait for the clock. Set ``Engine/Configuration/retry`` to test
    /// retries.
    ///
    /// - Parameter store: `nil` for an engine without a cache.
    public init(testing transport: any Transport, clock: TestClock = TestClock(), store: TemporaryStore? = nil) {
        self.init(store: store?.store)
        self.transport = transport
        self.clock = clock
        // The directory stays as long as the engine.
        now = { withExtendedLifetime(store) { clock.date } }
        // What the queue waits for comes when the test moves the clock.
        uptime = { Int64(clock.date.timeIntervalSince1970 * 1000) }
        retry = .never
        // Whatever network the machine has.
        reachability = ConstantReachability()
        // Whatever language the machine speaks.
        headers = [.userAgent: "Diamond"]
    }
}
