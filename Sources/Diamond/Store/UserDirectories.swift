import Foundation

/// The directories for a user's files on this platform.
struct UserDirectories {
    /// The directory for files that may be deleted at any time.
    let caches: URL
    /// The directory for files that must not be deleted.
    let data: URL
    /// The reason why there are none, and what to do; `nil` if there are directories.
    var obstacle: String?

    /// The directories of the user of this process.
    static var current: UserDirectories {
        #if canImport(Darwin)
        UserDirectories(FileManager.default)
        #else
        UserDirectories(ProcessInfo.processInfo.environment, home: passwordHome)
        #endif
    }

    /// Creates the directories from the environment, as the XDG Base Directory Specification says. A path that is not
    /// absolute is ignored.
    ///
    /// - Parameter home: the home directory of the user, used if the environment names none.
    init(_ environment: [String: String], home: @autoclosure () -> String?) {
        func path(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let ownCaches = path("XDG_CACHE_HOME")
        let ownData = path("XDG_DATA_HOME")
        let place = (ownCaches == nil || ownData == nil) ? path("HOME") ?? home() : nil
        caches = URL(filePath: ownCaches ?? "\(place ?? "")/.cache", directoryHint: .isDirectory)
        data = URL(filePath: ownData ?? "\(place ?? "")/.local/share", directoryHint: .isDirectory)
        if place == nil, ownCaches == nil || ownData == nil {
            obstacle = "this user has no home directory: set HOME, or choose a directory for the store (--store)"
        }
    }

    #if canImport(Darwin)
    private init(_ files: FileManager) {
        func directory(_ kind: FileManager.SearchPathDirectory) -> URL {
            files.urls(for: kind, in: .userDomainMask).first ?? files.temporaryDirectory
        }
        caches = directory(.cachesDirectory)
        #if os(tvOS)
        // tvOS has no other directory for an app's files.
        data = caches
        #else
        data = directory(.applicationSupportDirectory)
        #endif
    }
    #endif

    /// The home directory in the system's user database; `nil` if there is none.
    static var passwordHome: String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        // Long enough for the strings of every record.
        var buffer = [CChar](repeating: 0, count: 1 << 16)
        guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, found != nil, let home = entry.pw_dir
        else { return nil }
        let path = String(cString: home)
        return path.hasPrefix("/") ? path : nil
    }
}
