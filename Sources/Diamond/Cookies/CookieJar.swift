import DiamondSQLite
public import Foundation
import HTTPTypes

/// Keeps the cookies that servers set, and sends them back (RFC 6265, with the prefixes and bounds of RFC 6265bis). An engine
/// has none unless it is given one.
///
/// ```swift
/// configuration.cookies = CookieJar()
/// ```
///
/// Each identity has cookies of its own (``Request/identity``), and so have the requests that have none. Cookies are set and
/// sent at every hop of a redirect and with every attempt, by the host of each. A request that has a `Cookie` of its own is
/// sent with that. They are kept in memory alone, 3000 for an identity and 180 for a domain: those that were used least
/// lately go first.
///
/// A cookie is a credential. Answers to requests with an identity are cached under that, whatever their cookies. A
/// request without an identity and with a cookie is neither looked up, stored nor shared.
///
/// There is no list of public suffixes: a server may set a cookie for all of `co.uk`, though not for `com`. Use a jar with
/// servers that you know. `SameSite` is not looked at, because no request comes from a site.
public final class CookieJar: Sendable {
    private struct State {
        var shelves: [ExactText?: IdentityCookies] = [:]
        /// The shelves that were emptied lately. An exchange that was under way for longer than that counts as from
        /// before.
        var removals = RecentLog<ExactText?>()
    }

    private let state = Guarded(State())

    /// An empty jar. Engines may share one.
    public init() {}

    /// The cookies of an identity, expired ones included until others come.
    public func cookies(of identity: String? = nil) -> [Cookie] {
        state.withLock { $0.shelves[identity.exact]?.cookies ?? [] }
    }

    /// Sets a cookie, as an app that has kept it does. It replaces the one of the same name, domain and path.
    public func set(_ cookie: Cookie, of identity: String? = nil, at now: Date = Date()) {
        state.withLock { $0.shelves[identity.exact, default: IdentityCookies()].set(cookie, isTrusted: true, at: now) }
    }

    /// Removes the cookies of an identity that a predicate picks. A cookie that is set again meanwhile stays. The
    /// predicate may ask the jar.
    public func remove(of identity: String? = nil, where isGone: (Cookie) -> Bool) {
        // It is the app's, and not called where the lock is held.
        let gone = Set(cookies(of: identity).filter(isGone))
        guard !gone.isEmpty else { return }
        state.withLock { $0.shelves[identity.exact]?.remove { gone.contains($0) } }
    }

    /// Removes all cookies of an identity. A cookie that a server sets in answer to a request sent before is not kept.
    /// An engine calls this when it forgets the identity (``Engine/forget(identity:)``).
    public func removeAll(of identity: String?) {
        state.withLock { state in
            state.shelves[identity.exact] = nil
            state.removals.append(identity.exact)
        }
    }

    // MARK: On the way

    /// The number of times that all cookies of an identity were taken out, for ``receive(_:from:of:since:at:)``.
    var removals: Int { state.withLock { $0.removals.count } }

    /// Whether there is a cookie for a URL.
    func has(for url: String, of identity: String?, at now: Date) -> Bool {
        let isEmpty = state.withLock { $0.shelves[identity.exact]?.isEmpty ?? true }
        guard !isEmpty, let origin = CookieOrigin(url) else { return false }
        return state.withLock { $0.shelves[identity.exact]?.has(for: origin, at: now) ?? false }
    }

    /// Returns the `Cookie` field for a URL; `nil` where no cookie goes there.
    func field(for url: String, of identity: String?, at now: Date) -> HTTPField? {
        guard let origin = CookieOrigin(url) else { return nil }
        let cookies = state.withLock { $0.shelves[identity.exact]?.cookies(for: origin, at: now) ?? [] }
        guard !cookies.isEmpty else { return nil }
        return HTTPField(name: .cookie, lenientValue: Array(cookies.map(\.pair).joined(separator: "; ".utf8)))
    }

    /// Takes what a server sets.
    ///
    /// - Parameter removals: how many there were when it was asked: what belongs to a session that has ended is not kept.
    func receive(_ headers: HTTPFields, from url: String, of identity: String?, since removals: Int, at now: Date) {
        let fields = headers.filter { $0.name == .setCookie }
        guard !fields.isEmpty, let origin = CookieOrigin(url) else { return }
        let cookies = fields.compactMap { SetCookie($0)?.cookie(from: origin, at: now) }
        state.withLock { state in
            guard !state.removals.contains(since: removals, where: { $0 == identity.exact }) else { return }
            for cookie in cookies {
                state.shelves[identity.exact, default: IdentityCookies()].set(
                    cookie, isTrusted: origin.isSecure, at: now)
            }
        }
    }
}

extension String? {
    fileprivate var exact: ExactText? { map(ExactText.init) }
}
