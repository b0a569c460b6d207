import Foundation

/// A watch that tells when something comes on a descriptor. It owns the descriptor, and closes it at the end.
///
/// `@unchecked Sendable`: a source of Dispatch may be canceled from any thread, and nothing else is done with it.
final class DescriptorWatch: @unchecked Sendable {
    private let source: any DispatchSourceProtocol

    /// - Parameters:
    ///   - source: of the descriptor, not yet active.
    ///   - tell: called on a thread of the system's; be short.
    init(_ source: any DispatchSourceProtocol, of descriptor: Int32, tell: @escaping @Sendable () -> Void) {
        self.source = source
        source.setEventHandler { tell() }
        source.setCancelHandler { close(descriptor) }
        source.activate()
    }

    /// Creates a watch of a non-blocking descriptor. It discards the bytes read.
    convenience init(reading descriptor: Int32, tell: @escaping @Sendable () -> Void) {
        self.init(DispatchSource.makeReadSource(fileDescriptor: descriptor), of: descriptor) {
            var notes = [UInt8](repeating: 0, count: 8192)
            // An error tells of what was lost: that is something, too.
            while read(descriptor, &notes, notes.count) > 0 {}
            tell()
        }
    }

    deinit { source.cancel() }
}
