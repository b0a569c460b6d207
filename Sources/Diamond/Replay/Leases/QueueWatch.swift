import DiamondSQLite
import Foundation

/// An observer of other processes: of their writes to a wake file, and of their ends.
///
/// Linux reports both, Apple's platforms report only writes, and other systems report nothing. The caller has to poll
/// once a second for everything that is not reported.
final class QueueWatch: ReplayWatch {
    /// Whether it reports writes to the wake file.
    let reportsChanges: Bool
    /// Whether it reports everything that it was created for.
    let reportsEnds: Bool
    private let watch: DescriptorWatch?

    /// Creates an observer of changes to a store's jobs, and of the ends of their owners.
    convenience init(_ store: Store, notify: @escaping @Sendable () -> Void) {
        self.init(wakeFile: store.wakePath, locks: store.ownersDirectory, notify: notify)
    }

    /// - Parameters:
    ///   - wakeFile: the path of an existing file.
    ///   - locks: the directory of the owners' locks, which are closed when their processes end; `nil` if ends do not
    ///     matter.
    ///   - notify: called at each event, on a thread of the system. It must return quickly.
    init(wakeFile: String, locks: URL? = nil, notify: @escaping @Sendable () -> Void) {
        #if canImport(Glibc)
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else {
            reportsChanges = false
            reportsEnds = false
            watch = nil
            return
        }
        var watches = [inotify_add_watch(descriptor, wakeFile, UInt32(IN_MODIFY))]
        // A process that ends closes its lock file, which it has open for writing. Processes that test a lock open its
        // file for reading only.
        if let locks { watches.append(inotify_add_watch(descriptor, locks.path, UInt32(IN_CLOSE_WRITE))) }
        reportsChanges = watches[0] >= 0
        reportsEnds = watches.allSatisfy { $0 >= 0 }
        watch = DescriptorWatch(reading: descriptor, notify: notify)
        #elseif canImport(Darwin)
        let descriptor = open(wakeFile, O_EVTONLY | PrivateFile.flags)
        guard descriptor >= 0 else {
            reportsChanges = false
            reportsEnds = false
            watch = nil
            return
        }
        let source = DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: descriptor, eventMask: [.write, .extend])
        // The system does not report the ends of processes here.
        reportsChanges = true
        reportsEnds = locks == nil
        watch = DescriptorWatch(source, of: descriptor, notify: notify)
        #else
        reportsChanges = false
        reportsEnds = false
        watch = nil
        #endif
    }
}

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
