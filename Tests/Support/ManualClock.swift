package import Diamond
import DiamondSQLite
package import Foundation

/// A wall clock that stands still until the test advances it.
package final class ManualClock: Sendable {
    private let time: Guarded<Date>

    /// Starts at 2026-01-01T00:00:00Z.
    package init() { time = Guarded(Date(timeIntervalSince1970: 1_767_225_600)) }

    package var now: Date { time.withLock { $0 } }

    package var wallTime: WallTime { WallTime(now) }

    package func advance(by seconds: Double) { time.withLock { $0 += seconds } }
}
