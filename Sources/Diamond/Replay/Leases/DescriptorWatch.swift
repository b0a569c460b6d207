import Foundation

/// An observer of a file descriptor. It owns the descriptor, and closes it when it is released.
///
/// `@unchecked Sendable`: a Dispatch source may be canceled from any thread, and nothing else is done with it.
final class DescriptorWatch: @unchecked Sendable {
    private let source: any DispatchSourceProtocol

    /// - Parameters:
    ///   - source: the descriptor's source, not yet active.
    ///   - notify: called at each event, on a thread of the system. It must return quickly.
    init(_ source: any DispatchSourceProtocol, of descriptor: Int32, notify: @escaping @Sendable () -> Void) {
        self.source = source
        source.setEventHandler { notify() }
        source.setCancelHandler { close(descriptor) }
        source.activate()
    }

    /// Creates an observer of a non-blocking descriptor. It discards the bytes it reads.
    convenience init(reading descriptor: Int32, notify: @escaping @Sendable () -> Void) {
        self.init(DispatchSource.makeReadSource(fileDescriptor: descriptor), of: descriptor) {
            var notes = [UInt8](repeating: 0, count: 8192)
            // An error means that notifications were lost, which is a reason to notify, too.
            while read(descriptor, &notes, notes.count) > 0 {}
            notify()
        }
    }

    deinit { source.cancel() }
}
