import HTTPTypes

/// The freshness lifetime of a response, and its age on arrival (RFC 9111 section 4.2), in milliseconds.
struct Freshness: Equatable {
    /// The server's explicit lifetime, else a heuristic one; `nil` if there is neither.
    var lifetime: Int64?
    /// Whether the lifetime is heuristic (section 4.2.2): the server gives none.
    var isHeuristic = false
    /// Whether the server has given a lifetime above zero.
    var isExplicit: Bool { !isHeuristic && lifetime ?? 0 > 0 }
    /// The corrected age on arrival: the larger of the apparent age and `Age` plus the time the exchange took.
    var initialAge: Int64

    /// The longest heuristic lifetime: a day.
    static let longestHeuristic: Int64 = 86_400_000

    /// - Parameters:
    ///   - control: the directives of the headers' `Cache-Control`.
    ///   - kind: `s-maxage` counts for a shared cache.
    init(
        headers: HTTPFields,
        _ control: CacheControl,
        status: Int,
        kind: CacheKind = .private,
        sentAt: WallTime,
        receivedAt: WallTime
    ) {
        let date = Self.date(headers, receivedAt: receivedAt)
        lifetime = Self.explicitLifetime(headers, control: control, kind: kind, date: date, now: receivedAt)
        if lifetime == nil, control.isPublic || StoreDecision.heuristicallyCacheable.contains(status) {
            lifetime = Self.heuristicLifetime(headers, date: date, now: receivedAt)
            isHeuristic = lifetime != nil
        }
        let apparentAge = max(0, receivedAt.milliseconds(since: date))
        let correctedAge = Self.age(headers) * 1000 + max(0, receivedAt.milliseconds(since: sentAt))
        initialAge = max(apparentAge, correctedAge)
    }

    /// Returns the time of `Date`, or the time of receipt if there is none or it cannot be read (RFC 9110 section
    /// 6.6.1).
    private static func date(_ headers: HTTPFields, receivedAt: WallTime) -> WallTime {
        guard headers.contains(.date) else { return receivedAt }
        return headers.single(.date).flatMap { HTTPDate.time(of: $0, now: receivedAt) } ?? receivedAt
    }

    /// Returns the first member of `Age`, in seconds. An invalid one is ignored (section 5.1).
    private static func age(_ headers: HTTPFields) -> Int64 {
        guard headers.contains(.age) else { return 0 }
        let first = headers[values: .age].lazy.flatMap(\.listElements).first { !$0.isEmpty }
        return first?.withBytes { $0.deltaSeconds($0.indices) } ?? 0
    }

    /// Returns the lifetime by the first of `s-maxage`, `max-age` and `Expires` that is present (section 4.2.1).
    private static func explicitLifetime(
        _ headers: HTTPFields,
        control: CacheControl,
        kind: CacheKind,
        date: WallTime,
        now: WallTime
    ) -> Int64? {
        if kind == .shared, let seconds = control.sharedMaxAge { return seconds * 1000 }
        if let seconds = control.maxAge { return seconds * 1000 }
        guard !control.isTargeted, headers.contains(.expires) else { return nil }
        // An Expires that cannot be read, such as "0", is in the past (section 5.3). So are several that differ
        // (section 4.2.1).
        guard let expires = headers.single(.expires).flatMap({ HTTPDate.time(of: $0, now: now) }) else {
            return 0
        }
        return max(0, expires.milliseconds(since: date))
    }

    /// Returns a tenth of the time for which the representation had not changed (section 4.2.2); `nil` if that is
    /// unknown.
    private static func heuristicLifetime(_ headers: HTTPFields, date: WallTime, now: WallTime) -> Int64? {
        guard let text = headers.single(.lastModified), let modified = HTTPDate.time(of: text, now: now),
            modified <= date
        else { return nil }
        return min(date.milliseconds(since: modified) / 10, longestHeuristic)
    }
}
