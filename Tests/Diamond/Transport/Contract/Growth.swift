#if os(Linux)
import DiamondSQLite
import DiamondTestSupport

/// By how much the process has grown since the first look, at its largest.
struct Growth {
    private let start = ProcessUsage.residentBytes
    private(set) var bytes = 0

    mutating func look() { bytes = max(bytes, ProcessUsage.residentBytes - start) }
}

/// The same, looked at from anywhere.
final class SharedGrowth: Sendable {
    private let growth = Guarded(Growth())

    var bytes: Int { growth.withLock { $0.bytes } }

    func look() { growth.withLock { $0.look() } }
}
#endif
