import Foundation

/// The cookies of one identity, by domain.
struct IdentityCookies: Sendable {
    private struct Kept {
        var cookie: Cookie
        /// The place of its first setting, as a number in order.
        let number: Int
        var lastUse: Int

        /// Whether it makes room first, of two that have not expired (RFC 6265bis section 5.7): who comes without TLS must not
        /// be able to push a secure one out, and take its place.
        func goes(before other: Kept) -> Bool {
            guard cookie.isSecure == other.cookie.isSecure else { return !cookie.isSecure }
            return lastUse < other.lastUse
        }
    }

    private var kept: [String: [Kept]] = [:]
    /// A clock that counts what has happened to the shelf.
    private var clock = 0
    private(set) var count = 0

    /// At most for one domain, and in all (RFC 6265 section 6.1 asks for 50 and 3000).
    static let (mostOfDomain, most) = (180, 3000)

    var isEmpty: Bool { count == 0 }

    /// By domain and path, those that were set first coming first.
    var cookies: [Cookie] { kept.sorted { $0.key < $1.key }.flatMap { $0.value.map(\.cookie) } }

    // MARK: Setting

    /// Takes the place of the one at the same place; an expired one takes it away.
    ///
    /// - Parameter isTrusted: whether it may take the place of a secure one, which no server without TLS may.
    mutating func set(_ cookie: Cookie, isTrusted: Bool, at now: Date) {
        guard isTrusted || !isCovered(cookie, at: now) else { return }
        clock += 1
        var neighbors = kept[cookie.domain] ?? []
        count -= neighbors.count
        let index = neighbors.firstIndex { $0.cookie.place == cookie.place }
        if let index, !cookie.isExpired(at: now) {
            neighbors[index].cookie = cookie
            neighbors[index].lastUse = clock
        } else if let index {
            neighbors.remove(at: index)
        } else if !cookie.isExpired(at: now) {
            neighbors.append(Kept(cookie: cookie, number: clock, lastUse: clock))
            Self.bound(&neighbors, at: now)
        }
        kept[cookie.domain] = neighbors.isEmpty ? nil : neighbors
        count += neighbors.count
        if count > Self.most { evict(at: now) }
    }

    /// Whether a secure cookie of the name would be hidden by it (RFC 6265bis section 5.7, step 16).
    private func isCovered(_ cookie: Cookie, at now: Date) -> Bool {
        let labels = CookieOrigin("https://\(cookie.domain)/")?.domains ?? []
        let others = kept.filter { labels.contains($0.key) || $0.key.hasSuffix("." + cookie.domain) }
        return others.values.joined().contains {
            $0.cookie.isSecure && $0.cookie.sentName == cookie.sentName && !$0.cookie.isExpired(at: now)
                && CookieOrigin.isPath(cookie.path, below: $0.cookie.path)
        }
    }

    private static func bound(_ neighbors: inout [Kept], at now: Date) {
        guard neighbors.count > mostOfDomain else { return }
        neighbors.removeAll { $0.cookie.isExpired(at: now) }
        while neighbors.count > mostOfDomain,
            let first = neighbors.indices.min(by: { neighbors[$0].goes(before: neighbors[$1]) })
        {
            neighbors.remove(at: first)
        }
    }

    private mutating func evict(at now: Date) {
        remove { $0.isExpired(at: now) }
        guard count > Self.most, let first = kept.values.joined().min(by: { $0.goes(before: $1) }) else { return }
        remove { $0.place == first.cookie.place }
    }

    mutating func remove(where isGone: (Cookie) -> Bool) {
        for domain in kept.keys {
            kept[domain]?.removeAll { isGone($0.cookie) }
            if kept[domain]?.isEmpty == true { kept[domain] = nil }
        }
        count = kept.values.reduce(0) { $0 + $1.count }
    }

    // MARK: Sending

    func has(for origin: CookieOrigin, at now: Date) -> Bool {
        origin.domains.contains { domain in
            kept[domain]?.contains { origin.takes($0.cookie) && !$0.cookie.isExpired(at: now) } == true
        }
    }

    /// Returns the cookies with longer paths first, and of those the oldest (RFC 6265 section 5.4).
    mutating func cookies(for origin: CookieOrigin, at now: Date) -> [Cookie] {
        clock += 1
        var found: [Kept] = []
        for domain in origin.domains {
            for index in kept[domain]?.indices ?? 0..<0 {
                guard let known = kept[domain]?[index], origin.takes(known.cookie), !known.cookie.isExpired(at: now)
                else { continue }
                kept[domain]?[index].lastUse = clock
                found.append(known)
            }
        }
        let order = found.sorted { ($1.cookie.path.utf8.count, $0.number) < ($0.cookie.path.utf8.count, $1.number) }
        return order.map(\.cookie)
    }
}
