import DiamondSQLite
import Foundation

/// A file that other processes watch. A write to it tells them that jobs may be ready, or that a hold has changed.
final class QueueWakeFile: Sendable {
    private let descriptor: Int32

    /// - Parameter create: whether the file may be created. If it does not exist, no process watches it.
    init(_ path: String, create: Bool) {
        descriptor = (try? PrivateFile.open(path, access: (create ? O_CREAT : 0) | O_WRONLY)) ?? -1
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Wakes the processes that watch the file.
    func wake() {
        guard descriptor >= 0 else { return }
        var byte: UInt8 = 1
        // If the write fails, the other processes find the change when they poll.
        _ = pwrite(descriptor, &byte, 1, 0)
    }
}
