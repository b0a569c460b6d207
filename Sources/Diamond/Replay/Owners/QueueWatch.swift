import Foundation

/// Tells at once when another process has added a job, or has died.
///
/// Without a watch of files, which Linux has, and Apple's platforms have in part, nothing is told: whoever relies on it
/// looks once a second, too.
final class QueueWatch: Sendable {
    /// Whether it tells.
    let isWatching: Bool
    private let watch: DescriptorWatch?

    /// - Parameter tell: called on a thread of the system's; be short.
    init(_ store: Store, tell: @escaping @Sendable () -> Void) {
        #if canImport(Glibc)
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else {
            (isWatching, watch) = (false, nil)
            return
        }
        // A process that ends closes its lock, which it has open to write; who only looks has it open to read.
        let watches = [
            inotify_add_watch(descriptor, store.ownersDirectory.path, UInt32(IN_CLOSE_WRITE)),
            inotify_add_watch(descriptor, store.wakePath, UInt32(IN_MODIFY)),
        ]
        (isWatching, watch) = (watches.allSatisfy { $0 >= 0 }, DescriptorWatch(reading: descriptor, tell: tell))
        #elseif canImport(Darwin)
        let descriptor = open(store.wakePath, O_EVTONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            (isWatching, watch) = (false, nil)
            return
        }
        let source = DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: descriptor, eventMask: [.write, .extend])
        // Of the end of processes nothing is told.
        (isWatching, watch) = (false, DescriptorWatch(source, of: descriptor, tell: tell))
        #else
        (isWatching, watch) = (false, nil)
        #endif
    }
}
