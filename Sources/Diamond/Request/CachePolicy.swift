/// The app's own word over the rules of HTTP: whether a request reads the cache, asks the network, and stores.
///
/// | policy | reads | asks the network | stores |
/// |---|---|---|---|
/// | `automatic` | what is fresh | when nothing is fresh, with validators | what HTTP allows |
/// | `cacheElseNetwork` | fresh or stale | when nothing is stored | what HTTP allows |
/// | `networkElseCache` | when network or server (5xx) fails | always, with validators | what HTTP allows |
/// | `staleWhileRevalidate` | fresh or stale | when stale, behind the answer | what HTTP allows |
/// | `revalidate` | what the server confirms | always, with validators | what HTTP allows |
/// | `cacheOnly` | fresh or stale, else status 504 | never | never |
/// | `reload` | never | always, without validators | what HTTP allows |
/// | `noStore` | never | always | never |
public struct CachePolicy: Hashable, Sendable {
    public enum Mode: String, Hashable, Sendable, CaseIterable, Codable {
        case automatic, cacheElseNetwork, networkElseCache, staleWhileRevalidate, revalidate, cacheOnly, reload, noStore
    }

    public var mode: Mode
    /// Freshness for good answers (status below 400) whose server gives none, from the moment they were stored. What the
    /// server says (`max-age`, `no-store`, …) is never overridden by it. Counts in every mode that asks what is fresh.
    /// Kept in whole milliseconds, a hundred years at most.
    public var maxAge: Duration? { didSet { maxAge = maxAge?.bounded } }

    public init(_ mode: Mode = .automatic, maxAge: Duration? = nil) {
        self.mode = mode
        self.maxAge = maxAge?.bounded
    }

    /// The rules of HTTP (RFC 9111), and `maxAge` where the server is silent.
    public static func automatic(maxAge: Duration?) -> CachePolicy { CachePolicy(.automatic, maxAge: maxAge) }

    public static let automatic = CachePolicy(.automatic)
    public static let cacheElseNetwork = CachePolicy(.cacheElseNetwork)
    public static let networkElseCache = CachePolicy(.networkElseCache)
    public static let staleWhileRevalidate = CachePolicy(.staleWhileRevalidate)
    public static let revalidate = CachePolicy(.revalidate)
    public static let cacheOnly = CachePolicy(.cacheOnly)
    public static let reload = CachePolicy(.reload)
    public static let noStore = CachePolicy(.noStore)
}
