/// The policy for reading the cache, using the network and storing the response. It overrides the rules of HTTP as the
/// table says.
///
/// | policy | reads the cache | uses the network | stores |
/// |---|---|---|---|
/// | `automatic` | what server and request allow, also stale | otherwise, with validators | what HTTP allows |
/// | `cacheElseNetwork` | fresh or stale | when nothing is stored | what HTTP allows |
/// | `networkElseCache` | when network or server (5xx) fails, stale unless `must-revalidate` | always, with validators | what HTTP allows |
/// | `staleWhileRevalidate` | fresh or stale | when stale, in the background | what HTTP allows |
/// | `revalidate` | after the server confirms (304) | always, with validators | what HTTP allows |
/// | `cacheOnly` | fresh or stale, else status 504 | never | never |
/// | `reload` | never | always, without validators | what HTTP allows |
/// | `noStore` | never | always | never |
///
/// If HTTP does not allow storing a new response to a GET or QUERY, the previously stored entry is removed, because it
/// is outdated: after the statuses 200, 203, 204, 301, 308, 404 and 410. Only `noStore` keeps it.
public struct CachePolicy: Hashable, Sendable {
    /// The policies without their `maxAge`, by the names that written requests and `cachectl --policy` use.
    public enum Mode: String, Hashable, Sendable, CaseIterable, Codable {
        case automatic, cacheElseNetwork, networkElseCache, staleWhileRevalidate, revalidate, cacheOnly, reload, noStore
    }

    /// The policy; the table says what each does.
    public var mode: Mode
    /// The freshness lifetime of a response for which the server gives none. It starts when the response arrives or is
    /// confirmed, and replaces the heuristic lifetime of HTTP.
    ///
    /// It never overrides the server's fields (`max-age`, `no-store`, …), and does not apply to statuses from 400 on.
    /// It applies in every mode that distinguishes fresh from stale. Rounded to whole milliseconds, 100 years at most.
    public var maxAge: Duration? { didSet { maxAge = maxAge?.bounded } }

    /// Whether the response to a POST is stored for later GET and HEAD requests with the same URL, parameters in it and
    /// headers, until its lifetime ends. The response has to be a success with an explicit lifetime, and its
    /// `Content-Location` has to name the URL of the POST (RFC 9110 section 9.3.3). `false` by default. With
    /// ``IdentityPreset/http``, every such response is stored. It never answers a POST, and `noStore` does not store
    /// it.
    public var storesPost = false

    /// Creates a policy.
    public init(_ mode: Mode = .automatic, maxAge: Duration? = nil) {
        self.mode = mode
        self.maxAge = maxAge?.bounded
    }

    /// The policy that follows HTTP (RFC 9111), the default of a request.
    public static let automatic = CachePolicy(.automatic)
    /// The stored response, however old; the server's if nothing is stored.
    public static let cacheElseNetwork = CachePolicy(.cacheElseNetwork)
    /// The server's response; the stored one if the server or the network fails.
    public static let networkElseCache = CachePolicy(.networkElseCache)
    /// The stored response, at once. A stale one is then revalidated in the background
    /// (``Engine/waitForRefresh(of:)``).
    public static let staleWhileRevalidate = CachePolicy(.staleWhileRevalidate)
    /// The stored response if the server confirms it, else the server's new one. Every request goes to the server.
    public static let revalidate = CachePolicy(.revalidate)
    /// The stored response, however old, or a response with status 504 (a typed call throws
    /// ``ConnectionError/Code-swift.struct/notStored``). No request goes to the server.
    public static let cacheOnly = CachePolicy(.cacheOnly)
    /// A new response from the server, which is stored.
    public static let reload = CachePolicy(.reload)
    /// A new response from the server, which is not stored. A response stored before stays.
    public static let noStore = CachePolicy(.noStore)
}

/// The policies that tell fresh from stale, with a ``CachePolicy/maxAge``.
extension CachePolicy {
    /// Returns ``automatic``, with `maxAge` for responses without a lifetime of their own.
    public static func automatic(maxAge: Duration?) -> CachePolicy { CachePolicy(.automatic, maxAge: maxAge) }

    /// Returns ``cacheElseNetwork``, with `maxAge` for responses without a lifetime of their own: older ones have the
    /// source `stale`.
    public static func cacheElseNetwork(maxAge: Duration?) -> CachePolicy {
        CachePolicy(.cacheElseNetwork, maxAge: maxAge)
    }

    /// Returns ``networkElseCache``, with `maxAge` for responses without a lifetime of their own: older ones replace no
    /// failure if they have `must-revalidate`.
    public static func networkElseCache(maxAge: Duration?) -> CachePolicy {
        CachePolicy(.networkElseCache, maxAge: maxAge)
    }

    /// Returns ``staleWhileRevalidate``, with `maxAge` for responses without a lifetime of their own: older ones are
    /// revalidated.
    public static func staleWhileRevalidate(maxAge: Duration?) -> CachePolicy {
        CachePolicy(.staleWhileRevalidate, maxAge: maxAge)
    }

    /// Returns ``cacheOnly``, with `maxAge` for responses without a lifetime of their own: older ones have the source
    /// `stale`.
    public static func cacheOnly(maxAge: Duration?) -> CachePolicy { CachePolicy(.cacheOnly, maxAge: maxAge) }
}

extension CachePolicy: CustomStringConvertible {
    /// The mode, and what else is set: `automatic, fresh for 60 s, stores POST`.
    public var description: String {
        mode.rawValue + (maxAge.map { ", fresh for \($0.inSeconds)" } ?? "") + (storesPost ? ", stores POST" : "")
    }
}
