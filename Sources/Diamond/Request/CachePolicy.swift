/// The app's choice whether a request reads the cache, asks the network, and stores the answer. It overrides the rules
/// of HTTP as the table says.
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
/// If HTTP does not allow storing a new answer (200, 203 or 204) to a GET or QUERY, the entry stored before is removed:
/// it is no longer what the server says. Only `noStore` keeps it.
public struct CachePolicy: Hashable, Sendable {
    /// The policies without their `maxAge`, by the names that written requests and `cachectl --policy` use.
    public enum Mode: String, Hashable, Sendable, CaseIterable, Codable {
        case automatic, cacheElseNetwork, networkElseCache, staleWhileRevalidate, revalidate, cacheOnly, reload, noStore
    }

    /// The policy; the table says what each does.
    public var mode: Mode
    /// The freshness lifetime of answers with a status below 400 whose server gives none, from the moment they were
    /// stored. It never overrides the server's own fields (`max-age`, `no-store`, …). It counts in every mode that asks
    /// what is fresh. Kept in whole milliseconds, a hundred years at most.
    public var maxAge: Duration? { didSet { maxAge = maxAge?.bounded } }

    /// Creates a policy. `maxAge` is the freshness lifetime of answers whose server gives none.
    public init(_ mode: Mode = .automatic, maxAge: Duration? = nil) {
        self.mode = mode
        self.maxAge = maxAge?.bounded
    }

    /// The rules of HTTP (RFC 9111), and `maxAge` where the server is silent.
    public static func automatic(maxAge: Duration?) -> CachePolicy { CachePolicy(.automatic, maxAge: maxAge) }

    /// The rules of HTTP, the default of a request.
    public static let automatic = CachePolicy(.automatic)
    /// The stored answer, however old; the server's answer if nothing is stored.
    public static let cacheElseNetwork = CachePolicy(.cacheElseNetwork)
    /// The server's answer; the stored one if the server or the network fails.
    public static let networkElseCache = CachePolicy(.networkElseCache)
    /// The stored answer, at once. A stale one is then revalidated in the background (``Engine/settle()`` waits for
    /// that).
    public static let staleWhileRevalidate = CachePolicy(.staleWhileRevalidate)
    /// The stored answer if the server confirms it, or the server's new one. Asks the server each time.
    public static let revalidate = CachePolicy(.revalidate)
    /// The stored answer, however old, or a response of status 504. Never asks the server.
    public static let cacheOnly = CachePolicy(.cacheOnly)
    /// A new answer from the server, which is stored.
    public static let reload = CachePolicy(.reload)
    /// A new answer from the server, which is not stored. The answer stored before stays.
    public static let noStore = CachePolicy(.noStore)
}

extension CachePolicy: CustomStringConvertible {
    /// The mode, and the freshness where it has one: `automatic, fresh for 60 s`.
    public var description: String { mode.rawValue + (maxAge.map { ", fresh for \($0.inSeconds)" } ?? "") }
}
