import Foundation

/// Tells when something comes on a descriptor, which is its own, and closes that in the end.
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

    /// Of one whose reads do not wait. What is read is not looked at.
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
