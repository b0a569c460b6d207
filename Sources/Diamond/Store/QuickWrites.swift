import Dispatch
import Foundation

/// A record of recent writes, which tells whether a task may write on its own thread because the disk was quick.
struct QuickWrites: Sendable {
    /// The number of consecutive quick writes.
    private var count = 0

    /// The longest duration of a quick write, in nanoseconds.
    private static let quick: UInt64 = 1_000_000
    /// The number of quick writes after which the next one is expected to be quick.
    private static let threshold = 4
    private static let hasSeveralProcessors = ProcessInfo.processInfo.activeProcessorCount > 1

    /// Whether a thread of the task executor may wait for the disk: not if there is only one processor, or the task has
    /// a low priority.
    var mayHoldThread: Bool { count >= Self.threshold && Self.hasSeveralProcessors && Task.currentPriority >= .medium }

    /// Records a write that has just ended.
    ///
    /// - Parameters:
    ///   - start: the start of the write, in nanoseconds of uptime.
    ///   - isAlone: whether the duration is representative of the next write.
    mutating func recordWrite(since start: UInt64, isAlone: Bool = true) {
        let isQuick = DispatchTime.now().uptimeNanoseconds - start < Self.quick
        count = isQuick && isAlone ? count + 1 : 0
    }

    /// Starts the count again. Called when a write on the task's thread found the file locked by another process.
    mutating func reset() { count = 0 }
}
