/// The app's own word over the rules of HTTP: whether a request reads the cache, asks the network, and stores.
///
/// | policy | reads | asks the network | stores |
/// |---|---|---|---|
/// | `automatic` | what is fresh | when nothing is fresh, with validators | what HTTP allows |
/// | `cacheElseNetwork` | fresh or stale | when nothing is stored | what HTTP allows |
/// | `networkElseCache` | when network or server (5xx) fails, stale unless `must-revalidate` | always, with validators | what HTTP allows |
/// | `staleWhileRevalidate` | fresh or stale | when stale, behind the answer | what HTTP allows |
/// | `revalidate` | what the server confirms | always, with validators | what HTTP allows |
/// | `cacheOnly` | fresh or stale, else status 504 | never | never |
/// | `reload` | never | always, without validators | what HTTP allows |
/// | `noStore` | never | always | never |
///
/// Where HTTP does not allow to store a new answer (200, 203 or 204) to a GET or QUERY, what was stored goes: it is no longer
/// what the server says. What is stored stays under `noStore` alone.
public struct CachePolicy: Hashable, Sendable {
    /// The policies without their `maxAge`, by the names that written requests and `cachectl --policy` use.
    public enum Mode: String, Hashable, Sendable, CaseIterable, Codable {
        case automatic, cacheElseNetwork, networkElseCache, staleWhileRevalidate, revalidate, cacheOnly, reload, noStore
    }

    /// Which policy it is; the table says what each does.
    public var mode: Mode
    /// Freshness for good answers (status below 400) whose server gives none, from the moment they were stored. What the
    /// server says (`max-age`, `no-store`, …) is never overridden by it. Counts in every mode that asks what is fresh.
    /// Kept in whole milliseconds, a hundred years at most.
    public var maxAge: Duration? { didSet { maxAge = maxAge?.bounded } }

    /// A policy, and how long its answers are fresh where the server does not say.
    public init(_ mode: Mode = .automatic, maxAge: Duration? = nil) {
        self.mode = mode
        self.maxAge = maxAge?.bounded
    }

    /// The rules of HTTP (RFC 9111), and `maxAge` where the server is silent.
    public static func automatic(maxAge: Duration?) -> CachePolicy { CachePolicy(.automatic, maxAge: maxAge) }

    /// The rules of HTTP, the default of a request.
    public static let automatic = CachePolicy(.automatic)
    /// What is stored, however old; the server where nothing is.
    public static let cacheElseNetwork = CachePolicy(.cacheElseNetwork)
    /// The server; what is stored where that or the network fails.
    public static let networkElseCache = CachePolicy(.networkElseCache)
    /// What is stored, at once; a stale answer is brought up to date behind it (``Engine/settle()`` waits for that).
    public static let staleWhileRevalidate = CachePolicy(.staleWhileRevalidate)
    /// What the server confirms or sends, each time.
    public static let revalidate = CachePolicy(.revalidate)
    /// What is stored, however old; else a response of status 504. Never asks the server.
    public static let cacheOnly = CachePolicy(.cacheOnly)
    /// A new answer of the server, which is stored.
    public static let reload = CachePolicy(.reload)
    /// A new answer of the server, which is not stored; what is stored stays.
    public static let noStore = CachePolicy(.noStore)
}

extension CachePolicy: CustomStringConvertible {
    /// The mode, and the freshness where it has one: `automatic, fresh for 60 s`.
    public var description: String { mode.rawValue + (maxAge.map { ", fresh for \($0.inSeconds)" } ?? "") }
}
