import Foundation

/// Tells at once when another process has added a job, or has died.
///
/// Without a watch of files, which Linux has, and Apple's platforms have in part, nothing is told: whoever relies on it
/// looks once a second, too.
///
/// `@unchecked Sendable`: a source of Dispatch may be canceled from any thread, and nothing else is done with it.
final class QueueWatch: @unchecked Sendable {
    /// Whether it tells.
    let isWatching: Bool
    private let source: (any DispatchSourceProtocol)?

    /// - Parameter tell: called on a thread of the system's; be short.
    init(_ store: Store, tell: @escaping @Sendable () -> Void) {
        #if canImport(Glibc)
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else {
            (isWatching, source) = (false, nil)
            return
        }
        // A process that ends closes its lock, which it has open to write; who only looks has it open to read.
        let watches = [
            inotify_add_watch(descriptor, store.ownersDirectory.path, UInt32(IN_CLOSE_WRITE)),
            inotify_add_watch(descriptor, store.wakePath, UInt32(IN_MODIFY)),
        ]
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
        source.setEventHandler {
            var events = [UInt8](repeating: 0, count: 4096)
            while read(descriptor, &events, events.count) > 0 {}
            tell()
        }
        source.setCancelHandler { close(descriptor) }
        source.activate()
        (isWatching, self.source) = (watches.allSatisfy { $0 >= 0 }, source)
        #elseif canImport(Darwin)
        let descriptor = open(store.wakePath, O_EVTONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            (isWatching, source) = (false, nil)
            return
        }
        let source = DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: descriptor, eventMask: [.write, .extend])
        source.setEventHandler { tell() }
        source.setCancelHandler { close(descriptor) }
        source.activate()
        // Of the end of processes nothing is told.
        (isWatching, self.source) = (false, source)
        #else
        (isWatching, source) = (false, nil)
        #endif
    }

    deinit { source?.cancel() }
}
