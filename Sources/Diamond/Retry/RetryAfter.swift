import HTTPTypes

/// The `Retry-After` field (RFC 9110 section 10.2.3).
enum RetryAfter {
    /// Returns the time to wait, counted from the response; `nil` if the field is absent, unreadable or in the past.
    /// Zero is legal. If several differ, the first counts: waiting for it is more polite than not waiting.
    ///
    /// A date is compared with the response's own `Date`, as the server's clock may differ from ours.
    ///
    /// - Parameter now: the current time, used if there is no readable `Date`.
    static func duration(_ headers: HTTPFields, now: WallTime) -> Duration? {
        guard let text = headers.first(of: .retryAfter) else { return nil }
        return seconds(text) ?? delay(until: text, headers, now: now)
    }

    private static func seconds(_ text: String) -> Duration? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return .seconds(Int64(text) ?? .max).bounded
    }

    private static func delay(until text: String, _ headers: HTTPFields, now: WallTime) -> Duration? {
        guard let date = HTTPDate.time(of: text, now: now) else { return nil }
        let sent = headers.single(.date).flatMap { HTTPDate.time(of: $0, now: now) } ?? now
        return date < sent ? nil : Duration.milliseconds(date.milliseconds(since: sent)).bounded
    }
}
