#if os(Linux)
import DiamondSQLite
import DiamondTestSupport

/// The largest growth of the process's memory since the first measurement.
struct Growth {
    private let start = ProcessUsage.residentBytes
    private(set) var bytes = 0

    mutating func look() { bytes = max(bytes, ProcessUsage.residentBytes - start) }
}

/// A growth that is measured from any thread.
final class SharedGrowth: Sendable {
    private let growth = Guarded(Growth())

    var bytes: Int { growth.withLock { $0.bytes } }

    func look() { growth.withLock { $0.look() } }
}
#endif
