import Foundation

/// A time since the start of the machine, in milliseconds, by a clock that cannot be set. It includes sleep. All
/// processes have the same.
package struct Uptime: ClockTime {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static var now: Uptime {
        var time = timespec()
        #if canImport(Darwin)
        // On Darwin, this clock continues while the machine sleeps.
        clock_gettime(CLOCK_MONOTONIC, &time)
        #else
        clock_gettime(CLOCK_BOOTTIME, &time)
        #endif
        return Uptime(rawValue: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
