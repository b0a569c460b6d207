/// Something that happened in an engine.
///
/// New kinds may come: a `switch` needs an `@unknown default`.
#if hasAttribute(nonexhaustive)
@nonexhaustive
#endif
public enum ActivityEvent: Sendable {
    /// Something began that has an end.
    case began(ActivityInterval)
    /// An interval has ended. Every interval ends exactly once, also when it is canceled, paused, or forgotten.
    case ended(ActivityInterval, ActivityOutcome)
    /// A body came with a `Content-Encoding` that is not removed, such as `utf-8`, and that the request did not ask for. It
    /// is handed on as it came, with the field.
    case contentCodingKept(_ coding: String, origin: String)
    /// A response was answered from the cache.
    case hit(Response.Source)
    /// Nothing usable was stored.
    case miss
    /// A response was put into the cache. It is found from now on, and goes to disk a moment later. Where that fails, a
    /// ``cacheFailed(reason:)`` follows. ``CacheCounts/stores`` counts the responses that got to disk.
    case stored
    /// An entry could not be read, or did not match its checksum; it was dropped and counts as a miss.
    case cacheEntryDropped(reason: String)
    /// The store has entries that this process cannot open, or must not believe: sealed with a key that was not given, in
    /// clear where a seal was, or compressed where this program was built without the trait `Compression`. They count as
    /// misses and stay. Told once for each key.
    case cacheEntriesLocked(reason: String)
    /// Entries went, so that the store keeps within its bound.
    case evicted(count: Int)
    /// The store's file was damaged. It was set aside under this path, and a new one begins.
    case cacheSetAside(file: String)
    /// The cache could not be opened, read or written; requests go on without it.
    case cacheFailed(reason: String)
    /// A redirect was not taken as it stands: user info in its `Location` was dropped, or several that differ were not
    /// followed, so that the redirect itself is the response.
    case oddRedirect(reason: String)
    /// A job of the queue went from one state to another, in this process.
    case job(ReplayTransition)
    /// The queue could not be opened, read or written. The caller was told of everything that it has not kept.
    case queueFailed(reason: String)
}
