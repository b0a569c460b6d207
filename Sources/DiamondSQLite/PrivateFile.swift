import Foundation

/// Checks that files and their directory belong to this user, so that no other user can replace them by a link or a
/// pipe.
///
/// The rules are those of `ssh` for keys: the owner is this user or root, and others must not have write access. Root
/// may not use another user's directory either: that user could not access the files that root creates there.
package enum PrivateFile {
    /// The flags for opening a private file: links are not followed, and a pipe without a reader or writer does not
    /// block.
    package static let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC

    /// Opens a file. A file that this creates is accessible to its owner only.
    ///
    /// - Parameter access: Flags such as `O_RDWR | O_CREAT`.
    /// - Returns: The file descriptor.
    package static func open(_ path: String, access: Int32) throws(SQLiteError) -> Int32 {
        try checkDirectory(URL(filePath: path).deletingLastPathComponent().path)
        // Checked before opening, because opening a pipe affects the process at its other end.
        try check(path)
        let descriptor = Foundation.open(path, access | flags, 0o600)
        guard descriptor >= 0 else { throw SQLiteError(errno: errno, "cannot be opened", path: path) }
        return descriptor
    }

    /// Throws for a link, a pipe, a socket, a device, and another user's file. A missing file is accepted.
    package static func check(_ path: String) throws(SQLiteError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        if let kind = kind(of: status) { throw SQLiteError(.notAFile, "is \(kind) instead of a file", path: path) }
        try checkOwner(status, path: path)
    }

    /// Throws for a directory that belongs to another user, or into which others may write. A missing directory is
    /// accepted: the code that creates files in it fails.
    ///
    /// Many systems have the umask 002, with which `mkdir` creates directories that a group may write to. If no
    /// file in such a directory is accessible to others, this removes the group's write permission.
    ///
    /// - Parameter isOwn: Whether the store has created the directory, which must not be a link then. The store's
    ///   directory itself may be a link.
    package static func checkDirectory(_ path: String, isOwn: Bool = false) throws(SQLiteError) {
        var status = stat()
        if isOwn { try check(path) }
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return }
        try checkOwner(status, path: path)
        guard status.st_mode & 0o022 == 0 || makePrivate(path) else {
            throw SQLiteError(.notPrivate, "is a directory that other users may write to", path: path)
        }
    }

    /// Removes the group's write permission from a directory of this user. A directory into which everybody may write,
    /// or with files that are accessible to others, is not changed.
    ///
    /// - Returns: Whether only the owner can write into the directory now.
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

    /// Whether a file or directory belongs to this user, and no other user has access to it.
    private static func isPrivate(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    /// Whether only the owner has access to an open file.
    package static func isPrivate(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & 0o077 == 0
    }

    /// Returns the path with the links among its directories resolved. A link in the last component is not followed.
    static func resolved(_ path: String) -> String {
        let url = URL(filePath: path)
        guard let directory = realpath(url.deletingLastPathComponent().path, nil) else { return path }
        defer { free(directory) }
        return URL(filePath: String(cString: directory)).appending(path: url.lastPathComponent).path
    }

    private static func checkOwner(_ status: stat, path: String) throws(SQLiteError) {
        guard status.st_uid != geteuid(), status.st_uid != 0 else { return }
        throw SQLiteError(.notOurs, "belongs to another user, \(status.st_uid)", path: path)
    }

    /// Returns a description of a link, pipe, socket or device; `nil` for a file, and for a directory, which cannot be
    /// opened as a file anyway.
    private static func kind(of status: stat) -> String? {
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFDIR: nil
        case S_IFLNK: "a symbolic link"
        case S_IFIFO: "a pipe"
        default: "a socket or a device"
        }
    }
}
