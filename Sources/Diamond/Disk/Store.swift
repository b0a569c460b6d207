import DiamondSQLite
public import Foundation

/// The directories of an engine's files: `cache.sqlite`, which may be deleted at any time, and `replay.sqlite`, which must
/// not.
///
/// Several processes may use one store at the same time.
public struct Store: Hashable, Sendable {
    /// Where the cache is. Made where it is missing, for its owner only.
    public var directory: URL
    /// Where the queue is: ``directory``, but for a store of a name, because a system that wants room empties caches.
    public var replayDirectory: URL
    /// The SQLite VFS of its files, by name; `nil` is the default.
    package var vfs: String?
    /// Why there is no directory; `nil` where there is one.
    var obstacle: String?
    /// How long opening the cache waits for another process that opens, makes or sets aside its file: as long as SQLite
    /// waits for one that writes.
    package var lockPatience: Duration = .seconds(30)

    /// One directory for cache and queue. Not one that the system empties, where requests are to be kept.
    public init(directory: URL) { (self.directory, replayDirectory) = (directory, directory) }

    /// The store of this program: ``init(named:)`` by the identifier of its bundle, such as `com.example.shop`.
    ///
    /// A program without one, as on Linux, has the name of its executable and a digest of the path to that, symbolic links
    /// followed, such as `shop-1f8d0c6b52e9`: two programs of one name share nothing. The tests of each package have a store
    /// of their own.
    ///
    /// A program that is moved, or built at another path, gets another store. So does each release of a deployment that has a
    /// directory for each (`releases/7/shop`), although a link (`current`) leads to all of them in turn: requests that an
    /// earlier release has kept stay in its store, and are not sent. Such a program names a store (``init(named:)``), or gives
    /// a directory (``init(directory:)``).
    public static var `default`: Store { Store(named: ProgramName.current.text) }

    /// The store of a name, for programs of one user that share it: `Diamond/NAME` in the platform's directory for caches,
    /// `~/Library/Caches` on Apple platforms, `$XDG_CACHE_HOME` or `~/.cache` on Linux; the queue in
    /// `~/Library/Application Support`, `$XDG_DATA_HOME` or `~/.local/share`. `~` is `$HOME`, else what the system's database
    /// of users says; where neither names a directory, the store cannot be opened. tvOS has only the directory for caches, which it
    /// empties as it likes: there nothing that is queued is safe.
    ///
    /// - Parameter name: what has no place in a file's name is percent-encoded.
    public init(named name: String) {
        let (user, path) = (UserDirectories.current, "Diamond/\(Self.fileName(name))")
        directory = user.caches.appending(path: path, directoryHint: .isDirectory)
        replayDirectory = user.data.appending(path: path, directoryHint: .isDirectory)
        obstacle = user.obstacle
    }

    // One part of a path, and not a hidden one.
    static func fileName(_ name: String) -> String {
        let plain = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "/:"))
        let encoded = name.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
        if encoded.isEmpty { return "%" }
        return encoded.hasPrefix(".") ? "%2E" + encoded.dropFirst() : encoded
    }

    package var replayPath: String { Self.path("replay.sqlite", in: replayDirectory) }

    /// The locks of those who claim jobs.
    var ownersDirectory: URL { replayDirectory.appendingPathComponent("replay.owners") }

    /// Touched when there is something to do.
    var wakePath: String { Self.path("replay.wake", in: replayDirectory) }

    /// Tells of requests that must not be sent twice that they have left.
    var sentPath: String { Self.path("replay.sent", in: replayDirectory) }

    /// Touched when engines may send something again, or no longer.
    var holdsPath: String { Self.path("replay.holds", in: replayDirectory) }

    package var cachePath: String { Self.path("cache.sqlite", in: directory) }

    // Without a look at the disk, whether there is a directory of that name.
    private static func path(_ name: String, in directory: URL) -> String {
        directory.appending(path: name, directoryHint: .notDirectory).path
    }

    /// Damaged files that were set aside, and what belongs to them, by name.
    var setAside: [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.filter { $0.hasPrefix("cache.sqlite.corrupt-") }.sorted().map(directory.appendingPathComponent)
    }

    /// Locked while the file is opened, made or set aside.
    var lockPath: String { Self.path("cache.lock", in: directory) }

    /// Space that is set aside.
    var reservePath: String { Self.path("cache.reserve", in: directory) }

    /// The same, with less patience.
    func waiting(atMost patience: Duration) -> Store {
        var store = self
        store.lockPatience = min(lockPatience, patience)
        return store
    }

    /// Refuses a directory that holds no cache yet, and one that cannot be looked into.
    func requireCache() throws(CacheError) {
        guard try !isThere(cachePath, in: directory) else { return }
        throw CacheError(.noStore, "there is no store in \(directory.path): send a request with it, or name another")
    }

    /// Whether a directory has a file. Refuses one that cannot be looked into: of that nobody knows.
    func isThere(_ path: String, in directory: URL) throws(CacheError) -> Bool {
        if let obstacle { throw CacheError(.cannotOpen, obstacle) }
        guard FileNumber(path) == nil else { return true }
        let reason = errno
        if [ENOENT, ENOTDIR].contains(reason) { return false }
        let text = String(cString: strerror(reason))
        throw CacheError(
            .cannotOpen, "cannot look into \(directory.path) (\(text)): do so as its owner, or name another store")
    }

    /// Makes the directory, for its owner only, where it is missing.
    func create() throws(CacheError) { try create(directory) }

    /// - Parameter directory: one of the store's.
    func create(_ directory: URL) throws(CacheError) {
        if let obstacle { throw CacheError(.cannotOpen, obstacle) }
        do {
            try FileManager.default.createDirectory(
                at: directory.deletingLastPathComponent(),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            // FileManager makes a directory as the umask has it, and changes its mode afterwards.
            mkdir(directory.path, 0o700)
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        } catch {
            throw CacheError(
                .cannotOpen,
                "cannot make the store directory \(directory.path): check that its parent is a writable directory, or "
                    + "give another directory (--store)"
            )
        }
        do throws(SQLiteError) { try PrivateFile.checkDirectory(directory.path) } catch { throw CacheError(error) }
    }
}

extension Store: CustomStringConvertible {
    /// The directory, and that of the queue where it is another one.
    public var description: String {
        directory.path + (directory == replayDirectory ? "" : ", queue in \(replayDirectory.path)")
    }
}
