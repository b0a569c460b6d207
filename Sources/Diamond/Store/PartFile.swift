import DiamondSQLite
import Foundation

/// The hidden file that a download writes until it is complete, in the directory of its target.
///
/// The process that writes it has a lock on it. Without a lock, its name tells what becomes of it:
///
/// | name | file | removed |
/// |---|---|---|
/// | `.diamond-UUID.part` | left by a killed process | by the next download into the directory |
/// | `.diamond-UUID.kept` | named by a row of a store, and continued by the next download of its request | with its row, or a week after its last write |
package enum PartFile {
    /// The milliseconds after the last write for which a kept file may be continued: a week.
    static let lifetime: Int64 = 7 * 86_400_000

    private static let prefix = ".diamond-"
    private static let suffix = ".part"
    private static let keptSuffix = ".kept"

    /// Returns a unique name, whose length does not depend on the target's.
    static func name(isKept: Bool) -> String { prefix + UUID().uuidString + (isKept ? keptSuffix : suffix) }

    /// Returns the path of a kept file; `nil` if the name or the target is none that Diamond writes.
    package static func path(ofKept name: String, for target: String) -> String? {
        guard isName(name, with: keptSuffix), target.hasPrefix("/") else { return nil }
        return (target as NSString).deletingLastPathComponent + "/" + name
    }

    private static func isName(_ name: String, with suffix: String) -> Bool {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
        return UUID(uuidString: String(name.dropFirst(prefix.count).dropLast(suffix.count))) != nil
    }

    // MARK: Opening

    /// The result of opening a kept file.
    enum Opening {
        /// A descriptor that holds the lock.
        case opened(Int32)
        /// Another download has the lock, the file system has no locks, or the file cannot be opened at the moment.
        case inUse
        /// There is no file, or it is not a regular file of this user, or it has another name.
        case unusable
    }

    /// Opens a file that another process has left, and locks it.
    static func open(_ path: String) -> Opening {
        guard let descriptor = openUnlocked(path) else {
            // Too many open files say nothing about this one.
            return [EMFILE, ENFILE, EINTR, ENOMEM].contains(errno) ? .inUse : .unusable
        }
        guard isOwn(descriptor) else { return closing(descriptor, as: .unusable) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return closing(descriptor, as: .inUse) }
        // Another process may have renamed or removed it before it was locked.
        guard FileIdentity(path) == FileIdentity(of: descriptor) else { return closing(descriptor, as: .unusable) }
        return .opened(descriptor)
    }

    // The name may be a link or a pipe: the flags avoid following the one and blocking on the other.
    private static func openUnlocked(_ path: String) -> Int32? {
        let descriptor = Foundation.open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        return descriptor < 0 ? nil : descriptor
    }

    /// Whether a file is a regular one of this user, without another name. In a directory that others may write to,
    /// it could be a link to a file that is not a part.
    private static func isOwn(_ descriptor: Int32) -> Bool {
        guard let status = status(of: descriptor) else { return false }
        return status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink == 1
    }

    private static func closing(_ descriptor: Int32, as opening: Opening) -> Opening {
        close(descriptor)
        return opening
    }

    private static func status(of descriptor: Int32) -> stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
    }

    /// Returns the size of a file in bytes; `nil` if there is no regular file.
    package static func size(of path: String) -> Int64? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    static func size(of descriptor: Int32) -> Int64 { status(of: descriptor).map { Int64($0.st_size) } ?? 0 }

    // MARK: Removing

    /// Removes a file, unless a download writes it.
    package static func removeUnlocked(_ path: String) {
        guard let descriptor = openUnlocked(path) else { return }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
    }

    /// Removes the files that killed processes have left in a directory, except those that may be continued.
    static func removeAbandoned(in directory: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names {
            let path = directory + "/" + name
            if isName(name, with: suffix) || isName(name, with: keptSuffix) && isOutdated(path) { removeUnlocked(path) }
        }
    }

    // Looked at without a lock, which would keep another process from continuing the file.
    private static func isOutdated(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        #if canImport(Darwin)
        let seconds = status.st_mtimespec.tv_sec
        #else
        let seconds = status.st_mtim.tv_sec
        #endif
        return Int64(time(nil)) - Int64(seconds) > lifetime / 1000
    }
}
