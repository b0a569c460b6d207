import DiamondTesting

@testable import Diamond

extension Engine {
    /// An engine without a store, whose clock stands still and whose delays are the shortest possible.
    static func timeless(_ change: (inout Engine.Configuration) -> Void) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.draw = { 0 }
        configuration.clock = TestClock()
        change(&configuration)
        return Engine(configuration)
    }
}
