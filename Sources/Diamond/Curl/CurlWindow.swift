#if Curl && canImport(CDiamondCurl)
import Synchronization

/// The bytes that a body may have waiting between the wire and its reader, or its stream and the wire. The more
/// transfers a transport has, the smaller is the window of each, so that slow readers together take bounded memory.
final class CurlWindow: Sendable {
    private static let total = 16 << 20
    private static let sizes = 64 << 10...1 << 20

    private let current = Atomic(CurlWindow.sizes.upperBound)

    /// The maximum number of waiting bytes of a body.
    var size: Int { current.load(ordering: .relaxed) }

    /// Sets the number of transfers that share the memory.
    func share(among count: Int) {
        let share = Self.total / max(1, count)
        current.store(min(max(share, Self.sizes.lowerBound), Self.sizes.upperBound), ordering: .relaxed)
    }
}
#endif
