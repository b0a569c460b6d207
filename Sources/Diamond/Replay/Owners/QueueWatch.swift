import DiamondSQLite
import Foundation

/// A watch that tells at once when another process rings a bell, or dies.
///
/// It needs a watch of files, which Linux has, and Apple's platforms have in part. Without one it tells nothing, so its
/// user also looks once a second.
final class QueueWatch: Sendable {
    /// Whether it tells of the bell.
    let hearsBell: Bool
    /// Whether it tells of all that it was asked for.
    let isWatching: Bool
    private let watch: DescriptorWatch?

    /// Creates a watch for jobs to be sent, and for the ends of processes.
    convenience init(_ store: Store, tell: @escaping @Sendable () -> Void) {
        self.init(bell: store.wakePath, locks: store.ownersDirectory, tell: tell)
    }

    /// - Parameters:
    ///   - bell: the path of a file that is there.
    ///   - locks: the directory of those that are closed when a process ends.
    ///   - tell: called on a thread of the system's; be short.
    init(bell: String, locks: URL? = nil, tell: @escaping @Sendable () -> Void) {
        #if canImport(Glibc)
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else {
            (hearsBell, isWatching, watch) = (false, false, nil)
            return
        }
        var watches = [inotify_add_watch(descriptor, bell, UInt32(IN_MODIFY))]
        // A process that ends closes its lock, which it has open to write; who only looks has it open to read.
        if let locks { watches.append(inotify_add_watch(descriptor, locks.path, UInt32(IN_CLOSE_WRITE))) }
        (hearsBell, isWatching) = (watches[0] >= 0, watches.allSatisfy { $0 >= 0 })
        watch = DescriptorWatch(reading: descriptor, tell: tell)
        #elseif canImport(Darwin)
        let descriptor = open(bell, O_EVTONLY | PrivateFile.flags)
        guard descriptor >= 0 else {
            (hearsBell, isWatching, watch) = (false, false, nil)
            return
        }
        let source = DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: descriptor, eventMask: [.write, .extend])
        // Of the end of processes nothing is told.
        (hearsBell, isWatching) = (true, locks == nil)
        watch = DescriptorWatch(source, of: descriptor, tell: tell)
        #else
        (hearsBell, isWatching, watch) = (false, false, nil)
        #endif
    }
}
