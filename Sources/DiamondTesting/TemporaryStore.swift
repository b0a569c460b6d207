public import Diamond
public import Foundation

/// A store in a directory of its own, gone with the last reference.
public final class TemporaryStore: Sendable {
    /// Made when the first engine opens the store.
    public let directory: URL
    /// The store for an engine: `Engine.Configuration(store: temporary.store)`.
    public var store: Store { Store(directory: directory) }

    /// Makes nothing on disk yet.
    public init() {
        directory = FileManager.default.temporaryDirectory.appending(path: "diamond-\(UUID().uuidString)")
    }

    deinit { try? FileManager.default.removeItem(at: directory) }
}
