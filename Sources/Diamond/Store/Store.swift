import DiamondSQLite
public import Foundation

/// The directories of an engine's files: `cache.sqlite`, which may be deleted at any time, and `replay.sqlite`, which
/// must not be deleted. Neither must the directory `replay.spill`, which has jobs for a queue on a server
/// (``QueuePlace``).
///
/// Several processes may use one store at the same time.
public struct Store: Hashable, Sendable {
    /// The directory of the cache. It is created, for its owner only, if it is missing.
    public var directory: URL
    /// The directory of the queue. It is the same as ``directory``, except for a named store: the system may empty the
    /// directory for caches when it needs space.
    public var replayDirectory: URL
    /// The name of the SQLite VFS for its files; `nil` for the default.
    package var vfs: String?
    /// The reason why there is no directory; `nil` if there is one.
    var obstacle: String?
    /// The longest time that opening the cache waits for another process that opens, creates or sets aside its file.
    /// SQLite's own wait for a process that writes is 30 seconds, whatever this is.
    package var lockTimeout: Duration = .seconds(30)

    /// Creates a store with one directory for cache and queue. If requests are queued, use a directory that the system
    /// does not empty.
    public init(directory: URL) {
        self.directory = directory
        replayDirectory = directory
    }

    /// The store of this program: ``init(named:)`` by the identifier of its bundle, such as `com.example.shop`.
    ///
    /// A program without a bundle, as on Linux, uses the name of its executable and a digest of the executable's path,
    /// such as `shop-1f8d0c6b52e9`. Symbolic links are resolved first. Two programs with the same name have different
    /// stores. The tests of each package have their own store.
    ///
    /// A program that is moved, or built at another path, gets another store. The same applies to deployments with one
    /// directory for each release (`releases/7/shop`), even behind a link (`current`). Requests that an earlier release
    /// has queued stay in its store, and are not sent. Use ``init(named:)`` or ``init(directory:)`` in such a program.
    public static var `default`: Store { Store(named: ProgramName.current.text) }

    /// Creates a store with a name, for programs of one user that share it. The cache is in `Diamond/NAME` in the
    /// platform's directory for caches: `~/Library/Caches` on Apple platforms, `$XDG_CACHE_HOME` or `~/.cache` on
    /// Linux. The queue is in `~/Library/Application Support`, `$XDG_DATA_HOME` or `~/.local/share`. `~` is `$HOME`, or
    /// else the home directory in the system's database of users. If neither names a directory, the store cannot be
    /// opened. tvOS has only the directory for caches, which the system may empty: there the queue is not safe.
    ///
    /// - Parameter name: the name; characters that a file's name cannot have are percent-encoded.
    public init(named name: String) {
        let user = UserDirectories.current
        let path = "Diamond/\(Self.fileName(name))"
        directory = user.caches.appending(path: path, directoryHint: .isDirectory)
        replayDirectory = user.data.appending(path: path, directoryHint: .isDirectory)
        obstacle = user.obstacle
    }

    /// Returns one path component that is not hidden.
    static func fileName(_ name: String) -> String {
        let plain = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "/:"))
        let encoded = name.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
        if encoded.isEmpty { return "%" }
        return encoded.hasPrefix(".") ? "%2E" + encoded.dropFirst() : encoded
    }

    package var replayPath: String { Self.path("replay.sqlite", in: replayDirectory) }

    /// The directory of the locks of the owners that claim jobs.
    var ownersDirectory: URL { replayDirectory.appendingPathComponent("replay.owners") }

    /// The directory of the jobs that wait to be moved to a queue on a server.
    var spillDirectory: URL { replayDirectory.appendingPathComponent("replay.spill") }

    /// The path of a file that is touched when there is work for the queue.
    var wakePath: String { Self.path("replay.wake", in: replayDirectory) }

    /// The path of the log of the sent requests that must not be sent twice.
    var sentPath: String { Self.path("replay.sent", in: replayDirectory) }

    /// The path of the log of the answers whose jobs could not be updated.
    var answersPath: String { Self.path("replay.answers", in: replayDirectory) }

    /// The path of a file that is there while erased jobs have to be overwritten in the queue's file.
    var erasedPath: String { Self.path("replay.erased", in: replayDirectory) }

    /// The path of a file that is touched when holds of the queue are set or released.
    var holdsPath: String { Self.path("replay.holds", in: replayDirectory) }

    /// The path of the newer events.
    package var eventPath: String { Self.path("events.jsonl", in: directory) }

    /// The path of the older events.
    package var olderEventPath: String { Self.path("events.old.jsonl", in: directory) }

    /// The path of the lock that is held while events are written.
    var eventLockPath: String { Self.path("events.lock", in: directory) }

    package var cachePath: String { Self.path("cache.sqlite", in: directory) }

    // With a directory hint, because Foundation would otherwise read the disk.
    private static func path(_ name: String, in directory: URL) -> String {
        directory.appending(path: name, directoryHint: .notDirectory).path
    }

    /// The damaged files that were set aside, and the files that belong to them, by name.
    package var setAside: [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.filter { $0.hasPrefix("cache.sqlite.corrupt-") }.sorted().map(directory.appendingPathComponent)
    }

    /// The path of the lock that is held while the file is opened, created or set aside.
    var lockPath: String { Self.path("cache.lock", in: directory) }

    /// The path of the ``Reserve``.
    var reservePath: String { Self.path("cache.reserve", in: directory) }

    /// Returns this store with a ``lockTimeout`` of no more than `timeout`.
    func waiting(atMost timeout: Duration) -> Store {
        var store = self
        store.lockTimeout = min(lockTimeout, timeout)
        return store
    }

    /// Throws if the directory has no cache, or cannot be read.
    package func requireCache() throws(CacheError) {
        guard try !fileExists(cachePath, in: directory) else { return }
        throw CacheError(
            .noStore, "there is no store in \(directory.path): send a request with it, or use another store")
    }

    /// Whether a file of a directory exists. Throws if the directory cannot be read.
    func fileExists(_ path: String, in directory: URL) throws(CacheError) -> Bool {
        if let obstacle { throw CacheError(.cannotOpen, obstacle) }
        guard FileIdentity(path) == nil else { return true }
        let reason = errno
        if [ENOENT, ENOTDIR].contains(reason) { return false }
        let text = String(cString: strerror(reason))
        throw CacheError(
            .cannotOpen,
            "cannot read the directory \(directory.path) (\(text)): run this program as its owner, or use another store"
        )
    }

    /// Creates the directory, for its owner only, if it is missing.
    func create() throws(CacheError) { try create(directory) }

    /// - Parameter directory: one of the store's directories.
    func create(_ directory: URL) throws(CacheError) {
        if let obstacle { throw CacheError(.cannotOpen, obstacle) }
        do {
            try FileManager.default.createDirectory(
                at: directory.deletingLastPathComponent(),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            // FileManager would create it with the mode of the umask, and change the mode afterwards.
            mkdir(directory.path, 0o700)
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        } catch {
            throw CacheError(
                .cannotOpen,
                "cannot create the store directory \(directory.path): check that its parent is a writable directory, or "
                    + "use another directory (--store)"
            )
        }
        do throws(SQLiteError) { try PrivateFile.checkDirectory(directory.path) } catch { throw CacheError(error) }
    }
}

extension Store: CustomStringConvertible {
    /// The directory, followed by the directory of the queue if that is different.
    public var description: String {
        directory.path + (directory == replayDirectory ? "" : ", queue in \(replayDirectory.path)")
    }
}
