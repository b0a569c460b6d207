import Foundation

/// Tells other processes that there is something to do.
final class QueueBell: Sendable {
    private let descriptor: Int32

    /// - Parameter create: whether what is rung may be made. Where it is not there, nobody listens.
    init(_ store: Store, create: Bool = true) {
        descriptor = open(store.wakePath, (create ? O_CREAT : 0) | O_CLOEXEC | O_WRONLY, 0o600)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func ring() {
        guard descriptor >= 0 else { return }
        var byte: UInt8 = 1
        // What cannot be written is found a second later.
        _ = pwrite(descriptor, &byte, 1, 0)
    }
}
