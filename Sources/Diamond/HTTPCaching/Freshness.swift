import HTTPTypes

/// The lifetime of a response without asking the server, and its age when it came (RFC 9111 section 4.2). All times are
/// in milliseconds.
struct Freshness: Equatable {
    /// The server's explicit lifetime: `max-age`, else `Expires` less `Date`; `nil` where it gives none.
    var lifetime: Int64?
    /// The corrected age on arrival: the larger of the apparent age and `Age` plus the time the exchange took.
    var initialAge: Int64

    /// - Parameter control: what the headers' `Cache-Control` says.
    init(headers: HTTPFields, _ control: CacheControl, sentAt: Int64, receivedAt: Int64) {
        let date = headers.single(.date).flatMap { HTTPDate.milliseconds(of: $0, now: receivedAt) }
        lifetime = control.maxAge.map { $0 * 1000 } ?? Self.lifetime(headers, date: date ?? receivedAt, now: receivedAt)
        let apparentAge = max(0, receivedAt - (date ?? receivedAt))
        let correctedAge = Self.age(headers) * 1000 + max(0, receivedAt - sentAt)
        initialAge = max(apparentAge, correctedAge)
    }

    // Of a list of ages the first counts (section 5.1).
    private static func age(_ headers: HTTPFields) -> Int64 {
        headers.first(of: .age)?.listElements.first.map { CacheControl.seconds($0) } ?? 0
    }

    private static func lifetime(_ headers: HTTPFields, date: Int64, now: Int64) -> Int64? {
        // Any unreadable Expires, "0" above all, is in the past (section 5.3), and so are several that differ (section
        // 4.2.1).
        guard headers.contains(.expires) else { return nil }
        let expires = headers.single(.expires).flatMap { HTTPDate.milliseconds(of: $0, now: now) }
        return max(0, (expires ?? 0) - date)
    }
}
