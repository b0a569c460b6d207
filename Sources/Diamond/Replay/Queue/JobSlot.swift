import DiamondSQLite
import Foundation

/// An engine's queue, which is opened on first use.
final class JobSlot: Sendable {
    /// A function that opens the queue.
    typealias Open = @Sendable () throws(ReplayError) -> ReplayQueue

    private let openQueue: Open
    private let path: String
    private let queue = Guarded<ReplayQueue?>(nil)

    /// - Parameter path: the path of the queue's file.
    init(_ path: String, open: @escaping Open) {
        self.path = path
        openQueue = open
    }

    /// Returns the queue, and opens it if needed. After a failure, the next call tries again.
    func open() throws(ReplayError) -> ReplayQueue {
        try queue.withLock { (queue) throws(ReplayError) in
            if let queue { return queue }
            let opened = try openQueue()
            queue = opened
            return opened
        }
    }

    /// Returns the queue if it is open, or if its file exists, for example from another process or an earlier run.
    /// Returns `nil` otherwise.
    func openIfExists() throws(ReplayError) -> ReplayQueue? {
        if let queue = queue.withLock({ $0 }) { return queue }
        return FileManager.default.fileExists(atPath: path) ? try open() : nil
    }

    /// The queue; `nil` if it is not open yet.
    var opened: ReplayQueue? { queue.withLock { $0 } }
}
