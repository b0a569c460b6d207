#if Tools
import NIOCore
import Synchronization

/// The number of clients' connections.
final class ClientCount: Sendable {
    /// The number of connections beyond the maximum that are answered with 503 at the same time. More wait.
    static let surplus = 256

    let maximum: Int
    private let count = Atomic(0)

    init(maximum: Int) { self.maximum = min(maximum, 1_000_000) }

    /// Counts a connection until it is closed.
    ///
    /// - Returns: whether it is beyond the maximum.
    func add(_ channel: any Channel) -> Bool {
        let number = count.add(1, ordering: .relaxed).newValue
        channel.closeFuture.whenComplete { [self] _ in count.subtract(1, ordering: .relaxed) }
        return number > maximum
    }
}
#endif
