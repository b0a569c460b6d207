import DiamondSQLite
import Foundation

/// The place of an engine's queue, which is opened on first use.
final class JobSlot: Sendable {
    /// - Throws: ``ReplayError``.
    typealias Open = @Sendable () throws(ReplayError) -> ReplayQueue

    private let open: Open
    private let path: String
    private let queue = Guarded<ReplayQueue?>(nil)

    init(_ path: String, open: @escaping Open) { (self.path, self.open) = (path, open) }

    /// Returns the queue, and opens it if needed. After a failure, the next call tries again.
    func take() throws(ReplayError) -> ReplayQueue {
        try queue.withLock { (queue) throws(ReplayError) in
            if let queue { return queue }
            let opened = try open()
            queue = opened
            return opened
        }
    }

    /// Returns the queue if it is open, or if its file exists, for example from another process or an earlier run;
    /// `nil` otherwise.
    func takeIfThere() throws(ReplayError) -> ReplayQueue? {
        if let queue = queue.withLock({ $0 }) { return queue }
        return FileManager.default.fileExists(atPath: path) ? try take() : nil
    }

    var opened: ReplayQueue? { queue.withLock { $0 } }
}
