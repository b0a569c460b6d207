import DiamondSQLite
import Foundation

/// Where an engine has its queue, which is opened when somebody needs it.
final class QueuePlace: Sendable {
    /// - Throws: ``ReplayError``.
    typealias Open = @Sendable () throws(ReplayError) -> ReplayQueue

    private let open: Open
    private let path: String
    private let queue = Guarded<ReplayQueue?>(nil)

    init(_ path: String, open: @escaping Open) { (self.path, self.open) = (path, open) }

    /// A failure is no word forever: the next one who asks tries again.
    func take() throws(ReplayError) -> ReplayQueue {
        try queue.withLock { (queue) throws(ReplayError) in
            if let queue { return queue }
            let opened = try open()
            queue = opened
            return opened
        }
    }

    /// The queue where it was opened, or has jobs of another process or an earlier time; `nil` where there is none.
    func takeIfThere() throws(ReplayError) -> ReplayQueue? {
        if let queue = queue.withLock({ $0 }) { return queue }
        return FileManager.default.fileExists(atPath: path) ? try take() : nil
    }

    var opened: ReplayQueue? { queue.withLock { $0 } }
}
