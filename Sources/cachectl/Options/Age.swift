#if Tools
import ArgumentParser

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
#endif
