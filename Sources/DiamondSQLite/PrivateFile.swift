import Foundation

/// Files of a directory that belongs to this user alone, so that no other user can put a link or a pipe in their
/// places.
///
/// As `ssh` does with keys, an owner is this user or root, and what others may write is refused. Another user's directory is
/// refused for root, too: the files that root makes there would keep that user out.
package enum PrivateFile {
    /// The flags with which such a file is opened: neither through a link, nor waiting for the other end of a pipe.
    package static let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC

    /// Opens a file, readable by its owner only where this makes it.
    ///
    /// - Parameter access: such as `O_RDWR | O_CREAT`.
    /// - Returns: its descriptor.
    package static func open(_ path: String, _ access: Int32) throws(SQLiteError) -> Int32 {
        try checkDirectory(URL(filePath: path).deletingLastPathComponent().path)
        // Before it is opened: an end of a pipe is taken by that.
        try check(path)
        let descriptor = Foundation.open(path, access | flags, 0o600)
        guard descriptor >= 0 else { throw SQLiteError(errno: errno, "cannot be opened", path: path) }
        return descriptor
    }

    /// Throws for a link, a pipe, a socket, a device, and another user's file. A missing file is accepted.
    package static func check(_ path: String) throws(SQLiteError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        if let kind = kind(of: status) { throw SQLiteError(.notAFile, "is \(kind), and no file", path: path) }
        try checkOwner(status, path)
    }

    /// Refuses a directory that is another user's, or that others may write into. A missing one is refused by the code
    /// that makes files in it.
    ///
    /// With the umask 002, which is the default on many systems, `mkdir` makes directories into which a group may write. If
    /// others have access to nothing in such a directory, this removes the group's right to write.
    ///
    /// - Parameter isOwn: whether the store has made it: then it is no link either. The directory of a store may be one.
    package static func checkDirectory(_ path: String, isOwn: Bool = false) throws(SQLiteError) {
        var status = stat()
        if isOwn { try check(path) }
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return }
        try checkOwner(status, path)
        guard status.st_mode & 0o022 == 0 || makePrivate(path) else {
            throw SQLiteError(.notPrivate, "is a directory into which others may write", path: path)
        }
    }

    /// Removes the group's right to write from a directory of this user. A directory into which everybody may write, and one
    /// with something that others have access to, stay as they are.
    ///
    /// - Returns: whether only its owner may write into it now.
    private static func makePrivate(_ path: String) -> Bool {
        let descriptor = Foundation.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_mode & S_IWOTH == 0,
            let names = try? FileManager.default.contentsOfDirectory(atPath: path),
            names.allSatisfy({ isPrivate("\(path)/\($0)") })
        else { return false }
        return fchmod(descriptor, status.st_mode & 0o7755) == 0
    }

    /// Whether a file or directory belongs to this user, and no other user has access to it. All files of a store are
    /// so.
    private static func isPrivate(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    /// The path with links among its directories followed, and none of its last part.
    static func resolved(_ path: String) -> String {
        let url = URL(filePath: path)
        guard let directory = realpath(url.deletingLastPathComponent().path, nil) else { return path }
        defer { free(directory) }
        return URL(filePath: String(cString: directory)).appending(path: url.lastPathComponent).path
    }

    private static func checkOwner(_ status: stat, _ path: String) throws(SQLiteError) {
        guard status.st_uid != geteuid(), status.st_uid != 0 else { return }
        throw SQLiteError(.notOurs, "belongs to another user, \(status.st_uid)", path: path)
    }

    /// Returns the kind of a thing in the place of a file; `nil` for a file, and for a directory, which is not opened
    /// as one.
    private static func kind(of status: stat) -> String? {
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFDIR: nil
        case S_IFLNK: "a symbolic link"
        case S_IFIFO: "a pipe"
        default: "a socket or a device"
        }
    }
}
