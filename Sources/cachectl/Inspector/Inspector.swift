#if Tools
import Diamond
import DiamondSQLite
import Foundation

/// The cache and the queue that the pages show. Each is opened when a page first needs it.
actor Inspector {
    nonisolated let store: StoreOptions
    /// The place of the queue.
    nonisolated let queuePlace: Place
    /// Whether pages may change the cache and the queue. ``Gate`` checks it for every action.
    nonisolated let isWritable: Bool
    /// The events that programs record beside the store.
    nonisolated let events: EventFeed
    /// The options that select the queue for another command, each after a space.
    nonisolated let queueOptions: String
    nonisolated let samples = QueueSamples()
    private var openedCache: Cache?
    private var openedQueue: ReplayQueue?
    /// The opened files. A program may replace one: by a new store, or because it was damaged.
    private var cacheFile: FileIdentity?
    private var queueFile: FileIdentity?

    /// Throws if the options contradict each other, or a key cannot be read. The cache and the queue may be missing.
    init(cache store: StoreOptions, queue: QueueServerOption, isWritable: Bool) throws {
        self.store = store
        self.isWritable = isWritable
        queueOptions = queue.optionText ?? store.optionText
        queuePlace = try queue.place(besides: store.place)
        events = EventFeed(store.location)
        _ = try store.sealing.seal()
        cacheFile = FileIdentity(store.location.cachePath)
        do {
            openedCache = try store.openCache()
        } catch is CacheError {
            // The pages say so.
        }
    }

    /// Returns the cache. Throws ``CacheError`` if there is none.
    func cache() throws -> Cache {
        let file = FileIdentity(store.location.cachePath)
        if let openedCache, file == cacheFile { return openedCache }
        let cache = try store.openCache()
        openedCache = cache
        cacheFile = file
        return cache
    }

    /// Returns the queue. Throws ``ReplayError`` if there is none.
    func queue() async throws -> ReplayQueue {
        let file = queuePlace.store.flatMap { FileIdentity($0.replayPath) }
        if let openedQueue, file == queueFile { return openedQueue }
        let queue = try await queuePlace.queue(try store.sealing.seal())
        // Another page may have opened it meanwhile.
        if let openedQueue, file == queueFile { return openedQueue }
        openedQueue = queue
        queueFile = file
        return queue
    }

    func close() async { await openedQueue?.close() }

    /// The name of the place for people: the directory of the store, or the name of the server.
    var placeName: String { openedCache?.server ?? store.location.directory.path }

    /// The key that a sealed store needs, as a sentence; `nil` if there is nothing to say.
    func notice() -> String? {
        guard let cache = try? cache(), let problem = try? store.sealing.problem(of: cache) else { return nil }
        return problem.prefix(1).uppercased() + problem.dropFirst() + "."
    }
}
#endif
