import DiamondSQLite
import Foundation

/// Tells other processes by a file of which they are told: that there is something to do, or that a hold has changed.
final class QueueBell: Sendable {
    private let descriptor: Int32

    /// - Parameter create: whether the file may be made. Where it is not there, nobody listens.
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
