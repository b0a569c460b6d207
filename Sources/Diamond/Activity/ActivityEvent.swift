public import HTTPTypes

/// An event of an engine.
///
/// New kinds may come: a `switch` needs an `@unknown default`.
#if hasAttribute(nonexhaustive)
@nonexhaustive
#endif
public enum ActivityEvent: Sendable {
    /// An interval has begun.
    case began(ActivityInterval)
    /// An interval has ended. Every interval ends exactly once, even if it is canceled or paused.
    case ended(ActivityInterval, ActivityOutcome)
    /// A body came with a `Content-Encoding` that is not removed, such as `utf-8`, and that the request did not ask
    /// for. It is passed on as it came, with the field.
    case unknownContentCoding(_ coding: String, origin: String)
    /// A transfer that broke, or was paused or ended with its process, continues after the bytes received before. The
    /// server has confirmed that they belong to the same representation.
    ///
    /// - Parameters:
    ///   - origin: the scheme, host and port of the server.
    ///   - offset: the number of bytes received before.
    ///   - total: the length of the whole body in bytes.
    case transferResumed(origin: String, offset: Int64, total: Int64)
    /// A request was answered from the cache.
    case hit(Response.Source, ActivityLookup)
    /// Nothing usable was stored for a request.
    case miss(ActivityLookup)
    /// A response was added to the cache. Lookups find it from now on. It is written to disk a moment later; if that
    /// fails, a ``cacheFailed(reason:)`` follows. ``CacheCounts/stores`` counts the responses on disk.
    case stored
    /// An entry could not be read, or did not match its checksum. It was removed and counts as a miss.
    case cacheEntryDropped(reason: String)
    /// The store has entries that this process cannot open or must not trust. They are sealed with a key that it does
    /// not have, in clear although there is a seal, or compressed although the program was built without the trait
    /// `Compression`. They count as misses and stay in the store. Reported once for each key.
    case cacheEntriesLocked(reason: String)
    /// Entries were removed to keep the store within its capacity.
    case evicted(count: Int)
    /// The store's file was damaged. It was moved to this path, and a new one was created.
    case cacheSetAside(file: String)
    /// The cache could not be opened, read or written. Requests continue without it.
    case cacheFailed(reason: String)
    /// A redirect was malformed. If its `Location` had user info, it was followed without it. If it had several
    /// different `Location` fields, it was not followed, and is the response itself.
    case malformedRedirect(reason: String)
    /// A job of the queue has changed its state, in this process.
    case job(ReplayTransition)
    /// The queue could not be opened, read or written. A request that could not be queued fails with an error. Also:
    /// jobs wait in a file because the queue's server cannot be reached, or refuses one of them (``QueuePlace``).
    case queueFailed(reason: String)
    /// The queue has jobs that could have been sent for a minute. This engine has run no replayer
    /// (``Engine/Configuration/replays``), and no other process sends a job. Noticed when a job is added, and reported
    /// once.
    case replayerMissing(jobs: Int)
}

/// A request that was looked up in the cache, reported by ``ActivityEvent/hit(_:_:)`` and ``ActivityEvent/miss(_:)``.
public struct ActivityLookup: Sendable {
    /// The lane of the request.
    public let lane: Lane
    /// The key of the entry, as `cachectl list` and `cachectl show` have it; `nil` if the request has none.
    public let key: RequestKey?
    let request: ActivityRequest

    /// The method of the request.
    public var method: HTTPRequest.Method { request.method }
    /// The URL without user info, with query items sorted by name and secret parameters masked. Computed on each
    /// access.
    public var url: String { request.url() }
}

extension ActivityLookup: CustomStringConvertible {
    /// A one-line description, such as `GET https://h/cities`.
    public var description: String { "\(method.rawValue) \(url)" }
}
