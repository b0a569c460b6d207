public import Foundation

/// The directory of an engine's files: `cache.sqlite`, which may be deleted at any time.
///
/// Several processes may use one store at the same time.
public struct Store: Hashable, Sendable {
    public var directory: URL
    /// The SQLite VFS of its files, by name; `nil` is the default.
    package var vfs: String?

    public init(directory: URL) { self.directory = directory }

    /// `Diamond` in the platform's directory for caches: `~/Library/Caches` on Apple platforms, `$XDG_CACHE_HOME` or
    /// `~/.cache` on Linux.
    public static var `default`: Store {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        return Store(directory: (caches ?? FileManager.default.temporaryDirectory).appendingPathComponent("Diamond"))
    }

    package var cachePath: String { directory.appendingPathComponent("cache.sqlite").path }

    /// Locked while the file is set aside.
    var lockPath: String { directory.appendingPathComponent("cache.lock").path }

    /// Refuses a directory that holds no cache yet.
    func requireCache() throws(CacheError) {
        guard FileManager.default.fileExists(atPath: cachePath) else {
            throw CacheError(
                .noStore, "there is no store in \(directory.path): send a request with it, or name another")
        }
    }

    /// Makes the directory, for its owner only, where it is missing.
    func create() throws(CacheError) {
        do {
            try FileManager.default.createDirectory(
                at: directory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw CacheError(
                .cannotOpen,
                "cannot make the store directory \(directory.path): check that its parent is a writable directory"
            )
        }
    }
}
