import Foundation

/// The cookies of one identity, by domain.
struct IdentityCookies: Sendable {
    private struct Entry {
        var cookie: Cookie
        /// The order number of the cookie's creation.
        let number: Int
        var lastUse: Int

        /// Whether the cookie is evicted before another (RFC 6265bis section 5.7). A server without TLS must not be
        /// able to evict a secure cookie and replace it.
        func isEvicted(before other: Entry) -> Bool {
            guard cookie.isSecure == other.cookie.isSecure else { return !cookie.isSecure }
            return lastUse < other.lastUse
        }
    }

    private var entries: [String: [Entry]] = [:]
    /// A logical clock that counts uses and changes.
    private var clock = 0
    private(set) var count = 0

    /// The maximum number of cookies for one domain (RFC 6265 section 6.1 requires 50).
    static let mostOfDomain = 180
    /// The maximum number of cookies in all (RFC 6265 section 6.1 requires 3,000).
    static let most = 3000

    var isEmpty: Bool { count == 0 }

    /// The cookies, sorted by domain, the oldest first within each.
    var cookies: [Cookie] { entries.sorted { $0.key < $1.key }.flatMap { $0.value.map(\.cookie) } }

    // MARK: Setting

    /// Stores a cookie in place of the one with the same key. An expired cookie only removes that one.
    ///
    /// - Parameter isTrusted: whether the cookie may replace a secure one. A server without TLS is not trusted.
    mutating func set(_ cookie: Cookie, isTrusted: Bool, at now: Date) {
        guard isTrusted || !overlaysSecureCookie(cookie, at: now) else { return }
        clock += 1
        var domainEntries = entries[cookie.domain] ?? []
        count -= domainEntries.count
        let index = domainEntries.firstIndex { $0.cookie.key == cookie.key }
        if let index, !cookie.isExpired(at: now) {
            domainEntries[index].cookie = cookie
            domainEntries[index].lastUse = clock
        } else if let index {
            domainEntries.remove(at: index)
        } else if !cookie.isExpired(at: now) {
            domainEntries.append(Entry(cookie: cookie, number: clock, lastUse: clock))
            Self.enforceLimit(on: &domainEntries, at: now)
        }
        entries[cookie.domain] = domainEntries.isEmpty ? nil : domainEntries
        count += domainEntries.count
        if count > Self.most { evict(at: now) }
    }

    /// Whether the cookie would overlay a secure cookie with the same name (RFC 6265bis section 5.7, step 16).
    private func overlaysSecureCookie(_ cookie: Cookie, at now: Date) -> Bool {
        let domains = CookieOrigin("https://\(cookie.domain)/")?.domains ?? []
        let others = entries.filter { domains.contains($0.key) || $0.key.hasSuffix("." + cookie.domain) }
        return others.values.joined().contains {
            $0.cookie.isSecure && $0.cookie.sentName == cookie.sentName && !$0.cookie.isExpired(at: now)
                && CookieOrigin.isPath(cookie.path, below: $0.cookie.path)
        }
    }

    private static func enforceLimit(on domainEntries: inout [Entry], at now: Date) {
        guard domainEntries.count > mostOfDomain else { return }
        domainEntries.removeAll { $0.cookie.isExpired(at: now) }
        while domainEntries.count > mostOfDomain,
            let first = domainEntries.indices.min(by: { domainEntries[$0].isEvicted(before: domainEntries[$1]) })
        {
            domainEntries.remove(at: first)
        }
    }

    private mutating func evict(at now: Date) {
        remove { $0.isExpired(at: now) }
        guard count > Self.most, let first = entries.values.joined().min(by: { $0.isEvicted(before: $1) }) else {
            return
        }
        remove { $0.key == first.cookie.key }
    }

    mutating func remove(where predicate: (Cookie) -> Bool) {
        for domain in entries.keys {
            entries[domain]?.removeAll { predicate($0.cookie) }
            if entries[domain]?.isEmpty == true { entries[domain] = nil }
        }
        count = entries.values.reduce(0) { $0 + $1.count }
    }

    // MARK: Sending

    func has(for origin: CookieOrigin, at now: Date) -> Bool {
        origin.domains.contains { domain in
            entries[domain]?.contains { origin.accepts($0.cookie) && !$0.cookie.isExpired(at: now) } == true
        }
    }

    /// Returns the cookies with longer paths first, and of those the oldest (RFC 6265 section 5.4).
    mutating func cookies(for origin: CookieOrigin, at now: Date) -> [Cookie] {
        clock += 1
        var found: [Entry] = []
        for domain in origin.domains {
            for index in entries[domain]?.indices ?? 0..<0 {
                guard let known = entries[domain]?[index], origin.accepts(known.cookie),
                    !known.cookie.isExpired(at: now)
                else { continue }
                entries[domain]?[index].lastUse = clock
                found.append(known)
            }
        }
        let order = found.sorted { ($1.cookie.path.utf8.count, $0.number) < ($0.cookie.path.utf8.count, $1.number) }
        return order.map(\.cookie)
    }
}
