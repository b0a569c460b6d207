import DiamondSQLite
import Foundation

/// An engine's queue, which is opened on first use.
final class JobSlot: Sendable {
    /// A function that opens the queue. Its argument says whether a queue in clear may be sealed.
    typealias Open = @Sendable (_ seals: Bool) throws(ReplayError) -> ReplayQueue

    private let openQueue: Open
    private let path: String?
    private let queue = Guarded<ReplayQueue?>(nil)

    /// - Parameter path: the path of the queue's file; `nil` for a queue elsewhere, which counts as existing.
    init(_ path: String?, open: @escaping Open) {
        self.path = path
        openQueue = open
    }

    private var exists: Bool { path.map { FileManager.default.fileExists(atPath: $0) } ?? true }

    /// Returns the queue, and opens it if needed. After a failure, the next call tries again.
    func open() throws(ReplayError) -> ReplayQueue {
        try queue.withLock { (queue) throws(ReplayError) in
            if let queue { return queue }
            let opened = try openQueue(true)
            queue = opened
            return opened
        }
    }

    /// Returns the queue if it is open, or if it exists, for example from another process or an earlier run. Returns
    /// `nil` otherwise.
    func openIfExists() throws(ReplayError) -> ReplayQueue? {
        if let queue = queue.withLock({ $0 }) { return queue }
        return exists ? try open() : nil
    }

    /// Opens the queue if it exists. If it has to be sealed first, which takes time in proportion to its size,
    /// that is done in a task of its own, and other calls wait for it. The holds of a file apply at once.
    ///
    /// - Parameter report: receives the error of that task.
    func openSoon(reportingFailure report: @escaping @Sendable (ReplayError) -> Void) throws(ReplayError) {
        guard exists else { return }
        let isBehind = try queue.withLock { (queue) throws(ReplayError) in
            guard queue == nil else { return false }
            let opened = try openQueue(false)
            let isBehind = (opened.storage as? SQLiteReplayStorage)?.isBehindSeal ?? false
            if !isBehind { queue = opened }
            return isBehind
        }
        guard isBehind else { return }
        // Detached, so that it has no task-local values of the code that creates the engine.
        Task.detached { [self] in
            // The store may have been removed meanwhile.
            do throws(ReplayError) { _ = try openIfExists() } catch { report(error) }
        }
    }

    /// The queue; `nil` if it is not open yet.
    var opened: ReplayQueue? { queue.withLock { $0 } }
}
