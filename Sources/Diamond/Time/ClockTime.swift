package import DiamondSQLite

/// A point in time by one clock, in milliseconds.
///
/// Each clock has a type of its own, so that times of different clocks cannot be compared or subtracted. Arithmetic
/// does not overflow: a result out of range is the nearest number, because a damaged file may contain any number.
package protocol ClockTime: RawRepresentable<Int64>, Comparable, CustomStringConvertible, Hashable, Sendable {
    init(rawValue: Int64)
}

extension ClockTime {
    package static var min: Self { Self(rawValue: .min) }
    package static var max: Self { Self(rawValue: .max) }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    package static func + (time: Self, milliseconds: Int64) -> Self {
        Self(rawValue: time.rawValue.addingSaturating(milliseconds))
    }

    package static func - (time: Self, milliseconds: Int64) -> Self {
        Self(rawValue: time.rawValue.subtractingSaturating(milliseconds))
    }

    package static func + (time: Self, duration: Duration) -> Self { time + duration.milliseconds }
    package static func - (time: Self, duration: Duration) -> Self { time - duration.milliseconds }

    package static func += (time: inout Self, milliseconds: Int64) { time = time + milliseconds }

    /// Returns the milliseconds from another time of the same clock to this one; a negative number if it is later.
    package func milliseconds(since other: Self) -> Int64 { rawValue.subtractingSaturating(other.rawValue) }

    /// The whole seconds since the clock's origin.
    package var second: Int64 { rawValue / 1000 }

    /// The whole hours since the clock's origin.
    package var hour: Int64 { rawValue / 3_600_000 }

    /// The time, limited to ±2^53 milliseconds, which a floating-point number represents exactly.
    package var bounded: Self {
        Self(rawValue: Swift.min(Swift.max(rawValue, -Self.furthest), Self.furthest))
    }

    package var description: String { String(rawValue) }

    static var furthest: Int64 { 1 << 53 }
}

// MARK: Columns

extension SQL.StringInterpolation {
    package mutating func appendInterpolation(_ time: some ClockTime) { appendInterpolation(time.rawValue) }
    package mutating func appendInterpolation(_ time: (some ClockTime)?) { appendInterpolation(time?.rawValue) }
}

extension SQLiteStatement {
    /// Returns the column as a time, limited to those that Diamond writes (``ClockTime/bounded``).
    package func time<Time: ClockTime>(_ column: Int32) -> Time { Time(rawValue: int64(column)).bounded }

    /// Returns the column as a time; `nil` for NULL.
    package func optionalTime<Time: ClockTime>(_ column: Int32) -> Time? { isNull(column) ? nil : time(column) }

    package func time<Time: ClockTime>(_ column: some SQLiteColumns) -> Time { time(Int32(column.rawValue)) }

    package func optionalTime<Time: ClockTime>(_ column: some SQLiteColumns) -> Time? {
        optionalTime(Int32(column.rawValue))
    }
}
