/// What is named in memories: entries by the prefixes of their keys, and those of a URL by its number. Where either is
/// another's, too, that one is read from disk again.
struct CacheNames: Hashable, Sendable {
    var keys: Set<Int64> = []
    /// ``CacheFile/number(of:)``.
    var urls: Set<Int64> = []

    var isEmpty: Bool { keys.isEmpty && urls.isEmpty }
}
