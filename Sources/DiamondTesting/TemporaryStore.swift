public import Diamond
public import Foundation

/// A store in a temporary directory, which is removed when this object is deallocated.
public final class TemporaryStore: Sendable {
    /// The directory. It is created when the first engine opens the store.
    public let directory: URL
    /// The store for an engine: `Engine.Configuration(store: temporary.store)`.
    public var store: Store { Store(directory: directory) }

    /// Creates a store with a unique path. Nothing is written to disk yet.
    public init() {
        directory = FileManager.default.temporaryDirectory.appending(path: "diamond-\(UUID().uuidString)")
    }

    deinit { try? FileManager.default.removeItem(at: directory) }
}
