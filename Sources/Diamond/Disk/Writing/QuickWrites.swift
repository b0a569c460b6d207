import Dispatch
import Foundation

/// Whether a task may write on its own thread: the disk was quick of late.
struct QuickWrites: Sendable {
    /// How many one behind the other were quick.
    private var count = 0

    /// A write for which no thread need be woken, in nanoseconds.
    private static let quick: UInt64 = 1_000_000
    /// After so many, the next is believed to be.
    private static let enough = 4
    private static let hasSeveralProcessors = ProcessInfo.processInfo.activeProcessorCount > 1

    /// Where it is the only one, or waits for others itself, a thread of the tasks must not wait for the disk.
    var mayHoldThread: Bool { count >= Self.enough && Self.hasSeveralProcessors && Task.currentPriority >= .medium }

    /// - Parameters:
    ///   - start: when the write began, in nanoseconds of uptime.
    ///   - isAlone: whether what was written says something of the next.
    mutating func note(since start: UInt64, isAlone: Bool = true) {
        let isQuick = DispatchTime.now().uptimeNanoseconds - start < Self.quick
        count = isQuick && isAlone ? count + 1 : 0
    }

    /// It could not be written on the task's thread.
    mutating func reset() { count = 0 }
}
