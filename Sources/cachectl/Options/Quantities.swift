#if Tools
import ArgumentParser

/// A number of bytes from the command line: `100MB`, `1.5GiB`, `65536`.
struct Size: ExpressibleByArgument {
    var bytes: Int64

    /// The units. Longer names come first, because `MB` ends with `B`.
    private static let units: [(name: String, bytes: Double)] = [
        ("KiB", 1024), ("MiB", 1_048_576), ("GiB", 1_073_741_824), ("TiB", 1_099_511_627_776), ("kB", 1e3),
        ("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("B", 1),
    ]

    init?(argument: String) {
        let unit = Self.units.first { argument.hasSuffix($0.name) } ?? ("", 1)
        let number = argument.dropLast(unit.name.count)
        // Only digits and points: Double also reads `inf`, `0x1p3` and `1e9`.
        guard number.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let count = Double(number) else {
            return nil
        }
        let bytes = count * unit.bytes
        guard bytes < 9e18 else { return nil }
        self.bytes = Int64(bytes)
    }
}

/// A length of time from the command line: `90s`, `15m`, `36h`, `7d`.
struct Age: ExpressibleByArgument {
    var milliseconds: Int64

    /// The maximum: 1,000 years.
    private static let maximum: Int64 = 365_000 * 86_400_000

    private static let units: [Character: Int64] = ["s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]

    init?(argument: String) {
        guard let unit = argument.last.flatMap({ Self.units[$0] }) else { return nil }
        let digits = argument.dropLast()
        guard digits.allSatisfy(\.isASCII), digits.first?.isNumber == true, let count = Int64(digits) else {
            return nil
        }
        let (milliseconds, overflows) = count.multipliedReportingOverflow(by: unit)
        guard !overflows, milliseconds <= Self.maximum else { return nil }
        self.milliseconds = milliseconds
    }
}

/// A maximum number, 1 or more.
struct Limit {
    let count: Int
    /// The number of results to read. One more than is printed shows whether there are more.
    var oneMore: Int { count < .max ? count + 1 : count }

    init(_ count: Int) { self.count = count }

    init(argument: String) throws {
        guard let count = Int(argument), count > 0 else { throw ValidationError("the number must be 1 or more") }
        self.count = count
    }

    /// Reads a number of days including today, from 1 to 400. Statistics are stored for 400 days.
    static func days(argument: String) throws -> Limit {
        guard let count = Int(argument), (1...400).contains(count) else {
            throw ValidationError("the number must be from 1 to 400")
        }
        return Limit(count)
    }
}
#endif
