import Foundation

/// How long a test that could go on forever goes on: a short form for every run, a long one for `scripts/soak`.
package enum Effort {
    package static let isSoaking = ProcessInfo.processInfo.environment["DIAMOND_SOAK"] != nil

    /// Whether this process runs nothing but tests that measure it.
    package static let isAlone = ProcessInfo.processInfo.environment["DIAMOND_ALONE"] != nil

    package static func rounds(_ quick: Int, soaking: Int) -> Int { isSoaking ? soaking : quick }

    /// The numbers from 1 to `last`, for a test that tries all places of a run one after the other; the short form takes
    /// one in a few, and the seed decides with which it begins.
    package static func places(to last: Int, oneIn few: Int) -> StrideThrough<Int> {
        if isSoaking { return stride(from: 1, through: last, by: 1) }
        return stride(from: min(1 + Int(seed % UInt64(few)), last), through: last, by: few)
    }

    /// The seed of this run's random choices; `DIAMOND_SEED` repeats one.
    package static let seed: UInt64 = {
        let given = ProcessInfo.processInfo.environment["DIAMOND_SEED"].flatMap { UInt64($0) }
        return given ?? UInt64.random(in: 0 ... .max)
    }()
}
