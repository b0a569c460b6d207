/// The names of entries and URLs in memories: the prefixes of the entries' keys, and the numbers of the URLs. If
/// another entry or URL has the same prefix or number, it is read from disk again, too.
struct CacheNames: Hashable, Sendable {
    var keys: Set<Int64> = []
    /// ``CacheFile/number(of:)``.
    var urls: Set<Int64> = []

    var isEmpty: Bool { keys.isEmpty && urls.isEmpty }
}
