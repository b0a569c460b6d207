import DiamondSQLite
import Foundation

/// A bell for other processes, which watch its file. It tells them that jobs may be ready, or that a hold has changed.
final class QueueWakeFile: Sendable {
    private let descriptor: Int32

    /// - Parameter create: whether the file may be created. If it does not exist, no process listens.
    init(_ path: String, create: Bool) {
        descriptor = (try? PrivateFile.open(path, (create ? O_CREAT : 0) | O_WRONLY)) ?? -1
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func ring() {
        guard descriptor >= 0 else { return }
        var byte: UInt8 = 1
        // What cannot be written is found at the next look.
        _ = pwrite(descriptor, &byte, 1, 0)
    }
}
