#if Tools
import ArgumentParser

/// A time ago, as a person types it: `90s`, `15m`, `36h`, `7d`.
struct Age: ExpressibleByArgument {
    var milliseconds: Int64

    /// Days of a thousand years: what stands for always.
    private static let most: Int64 = 365_000 * 86_400_000

    private static let units: [Character: Int64] = ["s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]

    init?(argument: String) {
        guard let unit = argument.last.flatMap({ Self.units[$0] }) else { return nil }
        let digits = argument.dropLast()
        guard digits.allSatisfy(\.isASCII), digits.first?.isNumber == true, let count = Int64(digits) else {
            return nil
        }
        let (milliseconds, isTooMuch) = count.multipliedReportingOverflow(by: unit)
        guard !isTooMuch, milliseconds <= Self.most else { return nil }
        self.milliseconds = milliseconds
    }
}
#endif
