import Foundation
package import Testing

/// The length of a test that could go on forever: short in every run, long in `scripts/soak`.
package enum Effort {
    /// The part of the long form that runs, in percent (`DIAMOND_SOAK`); `nil` for the short form.
    private static let percent = ProcessInfo.processInfo.environment["DIAMOND_SOAK"]
        .flatMap { Int($0) }.map { min(max($0, 1), 100) }

    package static var isSoaking: Bool { percent != nil }

    /// Whether this process runs only tests that measure it.
    package static let isAlone = ProcessInfo.processInfo.environment["DIAMOND_ALONE"] != nil

    /// Whether `scripts/fleet` runs this process, beside its servers.
    package static let hasFleet = ProcessInfo.processInfo.environment["DIAMOND_FLEET"] != nil

    package static func rounds(_ quick: Int, soaking: Int) -> Int {
        guard let percent, soaking != .max else { return percent == nil ? quick : soaking }
        return max(quick, soaking * percent / 100)
    }

    /// Returns numbers from 1 to `last`, for a test that tries the places of a run one after the other. The short form
    /// tries one place in `few`, the long form all places, and N percent of the long form one place in 100 / N. The
    /// seed selects the first place.
    package static func places(to last: Int, oneIn few: Int) -> StrideThrough<Int> {
        let step = min(few, percent.map { 100 / $0 } ?? few)
        return stride(from: min(1 + Int(seed % UInt64(step)), last), through: last, by: step)
    }

    /// The seed of this run's random choices; `DIAMOND_SEED` repeats one.
    package static let seed: UInt64 = {
        let given = ProcessInfo.processInfo.environment["DIAMOND_SEED"].flatMap { UInt64($0) }
        return given ?? UInt64.random(in: 0 ... .max)
    }()
}

extension Trait where Self == TimeLimitTrait {
    /// Limits the time of each test. The limit is ten times as long in builds with a sanitizer (`DIAMOND_SANITIZED`).
    ///
    /// - Parameter soaking: the limit of the long form, and of each part of it; `nil` for the same one.
    package static func limit(minutes: Int, soaking: Int? = nil) -> Self {
        let minutes = Effort.isSoaking ? soaking ?? minutes : minutes
        let isSanitized = ProcessInfo.processInfo.environment["DIAMOND_SANITIZED"] != nil
        return .timeLimit(.minutes(isSanitized ? 10 * minutes : minutes))
    }
}
