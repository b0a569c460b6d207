#if Tools
import Diamond
import Foundation

/// Formats numbers, sizes and times for people.
enum Quantity {
    /// Formats a part of a total, rounded: `12 %`.
    static func share(_ count: Int, of total: Int) -> String { "\((count * 200 + total) / max(1, total * 2)) %" }

    /// Formats bytes: `0 B`, `1.5 KiB`, `12 MiB`.
    static func bytes(_ count: Int64) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var value = Double(count)
        var unit = 0
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return "\(unit > 0 && value < 10 ? tenths(value) : String(Int(value))) \(units[unit])"
    }

    /// Formats an age in milliseconds: `0s`, `59s`, `12m`, `3h`, `9d`.
    static func age(_ milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds / 1000)
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3600: return "\(seconds / 60)m"
        case ..<86400: return "\(seconds / 3600)h"
        default: return "\(seconds / 86400)d"
        }
    }

    /// Formats a duration: `0.4 ms`, `12 ms`, `1.5 s`. A negative one is `0.0 ms`.
    static func time(_ duration: Duration) -> String {
        let milliseconds = milliseconds(max(.zero, duration))
        guard milliseconds < 1000 else { return "\(tenths(milliseconds / 1000)) s" }
        return "\(milliseconds < 10 ? tenths(milliseconds) : String(Int(milliseconds))) ms"
    }

    /// Returns milliseconds, rounded to microseconds.
    static func milliseconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) * 1000 + Double(attoseconds / 1_000_000_000_000) / 1000
    }

    /// Formats a time: `2026-08-01T12:00:00Z`.
    static func instant(_ time: WallTime) -> String {
        Date(timeIntervalSince1970: Double(time.second)).formatted(.iso8601)
    }

    /// Formats a number of entries: `1 entry`, `2 entries`.
    static func entries(_ count: Int) -> String { count == 1 ? "1 entry" : "\(count) entries" }

    /// Formats a number of jobs: `1 job`, `2 jobs`.
    static func jobs(_ count: Int) -> String { count == 1 ? "1 job" : "\(count) jobs" }

    /// Formats a number of downloads: `1 download`, `2 downloads`.
    static func downloads(_ count: Int) -> String { count == 1 ? "1 download" : "\(count) downloads" }

    /// Formats sorted numbers as ranges: `1-3, 7` for 1, 2, 3 and 7.
    static func numbers(_ numbers: [Int64]) -> String {
        var runs: [ClosedRange<Int64>] = []
        for number in numbers {
            if let last = runs.last, last.upperBound + 1 == number {
                runs[runs.count - 1] = last.lowerBound...number
            } else {
                runs.append(number...number)
            }
        }
        return runs.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ", ")
    }

    /// Formats a date: `2026-08-01T12:00:00Z`.
    static func instant(_ date: Date) -> String { instant(WallTime(date)) }

    /// Formats a fraction: `12.3 %` for 0.123.
    static func percent(_ part: Double) -> String { "\(tenths(part * 100)) %" }

    /// Formats a number: `12.3`.
    static func tenths(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
#endif
