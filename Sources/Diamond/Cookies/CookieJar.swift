import DiamondSQLite
public import Foundation
import HTTPTypes

/// A store of the cookies that servers set, which are sent back to them (RFC 6265, with the name prefixes and limits of
/// RFC 6265bis). An engine has none by default.
///
/// ```swift
/// configuration.cookies = CookieJar()
/// ```
///
/// Each identity has its own cookies (``Request/identity``), and so have the requests without one. Cookies are set and
/// sent with every attempt at every hop of a redirect, by its host. A request with its own `Cookie` field is sent with
/// that field alone. Cookies are stored in memory only, at most 3,000 for each identity and 180 for each domain.
/// Expired ones are removed first, then those that are not `Secure`, then the least recently used.
///
/// A cookie is a credential. Responses to requests with an identity are cached under it, whatever their cookies. A
/// request with a cookie but no identity does not use the cache and is not shared.
///
/// The jar has no list of public suffixes: a server may set a cookie for all of `co.uk`, but not for `com`. Use a jar
/// only with servers that you trust. `SameSite` is ignored, because no request comes from a site.
public final class CookieJar: Sendable {
    private struct State {
        var cookies: [ExactText?: IdentityCookies] = [:]
        /// The identities whose cookies were all removed recently. A response to a request sent before the removal sets
        /// no cookies.
        var removals = RecentLog<ExactText?>()
    }

    private let state = Guarded(State())

    /// Creates an empty jar. Engines may share a jar.
    public init() {}

    /// Returns the cookies of an identity. Expired ones may be included.
    public func cookies(of identity: String? = nil) -> [Cookie] {
        state.withLock { $0.cookies[identity.exact]?.cookies ?? [] }
    }

    /// Sets a cookie. It replaces the one with the same name, domain and path.
    public func set(_ cookie: Cookie, of identity: String? = nil, at now: Date = Date()) {
        state.withLock { $0.cookies[identity.exact, default: IdentityCookies()].set(cookie, isTrusted: true, at: now) }
    }

    /// Removes the cookies of an identity that match a predicate. A cookie that is replaced during the call stays. The
    /// predicate may call the jar.
    public func remove(of identity: String? = nil, where predicate: (Cookie) -> Bool) {
        // The predicate is the app's, so it is called without the lock.
        let removed = Set(cookies(of: identity).filter(predicate))
        guard !removed.isEmpty else { return }
        state.withLock { $0.cookies[identity.exact]?.remove { removed.contains($0) } }
    }

    /// Removes all cookies of an identity. Later responses to requests sent before the call set no cookies. An engine
    /// calls this when it forgets the identity (``Engine/forget(identity:discardingJobs:)``).
    public func removeAll(of identity: String?) {
        state.withLock { state in
            state.cookies[identity.exact] = nil
            state.removals.append(identity.exact)
        }
    }

    // MARK: Requests and responses

    /// The number of removals of all cookies of an identity, for ``receive(_:from:of:since:at:)``.
    var removals: Int { state.withLock { $0.removals.count } }

    /// Whether the jar has a cookie for a URL.
    func has(for url: String, of identity: String?, at now: Date) -> Bool {
        let isEmpty = state.withLock { $0.cookies[identity.exact]?.isEmpty ?? true }
        guard !isEmpty, let origin = CookieOrigin(url) else { return false }
        return state.withLock { $0.cookies[identity.exact]?.has(for: origin, at: now) ?? false }
    }

    /// Returns the `Cookie` field for a URL; `nil` if there is no cookie for it.
    func field(for url: String, of identity: String?, at now: Date) -> HTTPField? {
        guard let origin = CookieOrigin(url) else { return nil }
        let cookies = state.withLock { $0.cookies[identity.exact]?.cookies(for: origin, at: now) ?? [] }
        guard !cookies.isEmpty else { return nil }
        return HTTPField(name: .cookie, lenientValue: Array(cookies.map(\.pair).joined(separator: "; ".utf8)))
    }

    /// Stores the cookies that a response sets.
    ///
    /// - Parameter removals: the number of removals when the request was sent. If the identity's cookies were removed
    ///   since, no cookie is stored, because its session has ended.
    func receive(_ headers: HTTPFields, from url: String, of identity: String?, since removals: Int, at now: Date) {
        let fields = headers.filter { $0.name == .setCookie }
        guard !fields.isEmpty, let origin = CookieOrigin(url) else { return }
        let cookies = fields.compactMap { SetCookie($0)?.cookie(from: origin, at: now) }
        state.withLock { state in
            guard !state.removals.contains(since: removals, where: { $0 == identity.exact }) else { return }
            for cookie in cookies {
                state.cookies[identity.exact, default: IdentityCookies()].set(
                    cookie, isTrusted: origin.isSecure, at: now)
            }
        }
    }
}

extension String? {
    fileprivate var exact: ExactText? { map(ExactText.init) }
}
