package import Foundation

/// A time of the wall clock, in milliseconds since 1970. The clock may be wrong, and may be set.
package struct WallTime: ClockTime {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Creates the time of a date, rounded and ``bounded``.
    package init(_ date: Date) {
        let exact = (date.timeIntervalSince1970 * 1000).rounded()
        let furthest = Double(Self.furthest)
        rawValue = Int64(Swift.max(-furthest, Swift.min(furthest, exact)))
    }

    package static var now: WallTime { WallTime(Date()) }

    package var date: Date { Date(timeIntervalSince1970: Double(bounded.rawValue) / 1000) }
}
