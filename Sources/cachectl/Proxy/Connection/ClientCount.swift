#if Tools
import Foundation
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

/// The limit of open files of the process.
enum OpenFiles {
    /// Raises the limit to 65,536, or as far as the system allows. A client's connection takes one file, and its
    /// exchange with the server another.
    static func raiseLimit() {
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        setrlimit(resource, &limit)
    }
}
#endif
