import DiamondTesting

@testable import Diamond

extension Engine {
    /// Without a store, by a clock that stands still, its delays the shortest that are drawn.
    static func timeless(_ change: (inout Engine.Configuration) -> Void) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.draw = { 0 }
        configuration.clock = TestClock()
        change(&configuration)
        return Engine(configuration)
    }
}
