#if Tools
import Diamond
import Foundation
import HTTPTypes

/// The pending timers of an entry: the events of its stored response, with their times.
struct EntryTimers {
    /// The events. A value is the time and how far away it is, or a reason if there is no time.
    private(set) var timers: [NamedValue] = []
    private let now: WallTime

    init(of stored: StoredResponse, targets: [HTTPField.Name], at now: WallTime) {
        self.now = now
        add("stored", at: stored.storedAt)
        let staleAt = stored.lifetime.map { stored.storedAt - stored.initialAge + $0 }
        addStale(stored, at: staleAt)
        addStaleServing(stored, since: staleAt, CacheControl(stored.headers, targets: targets))
        addEnd(stored, since: staleAt)
    }

    private mutating func addStale(_ stored: StoredResponse, at staleAt: WallTime?) {
        if stored.flags.contains(.invalidated) { return add("stale", "now: it was invalidated") }
        if stored.flags.contains(.noCache) { return add("stale", "always: no-cache asks for validation") }
        guard let staleAt else { return add("stale", "always: the response has no lifetime") }
        add(staleAt > now ? "stale at" : "stale since", at: staleAt)
    }

    /// Adds the ends of RFC 5861.
    private mutating func addStaleServing(
        _ stored: StoredResponse, since staleAt: WallTime?, _ control: CacheControl
    ) {
        guard !stored.needsValidation(at: now) else {
            return add("served stale", "never: it has to be validated")
        }
        guard !stored.flags.contains(.mustRevalidate), let staleAt else {
            return add("served stale", stored.flags.contains(.mustRevalidate) ? "never: must-revalidate" : "never")
        }
        let ends = [
            ("while it is refreshed", control.staleWhileRevalidate), ("if the server fails", control.staleIfError),
        ]
        for case (let reason, let seconds?) in ends {
            add("may be served stale \(reason), until", at: staleAt + .seconds(seconds))
        }
        if ends.allSatisfy({ $0.1 == nil }) { add("served stale", "only if the request or its policy accepts it") }
    }

    private mutating func addEnd(_ stored: StoredResponse, since staleAt: WallTime?) {
        if stored.flags.contains(.pinned) { return add("expires", "never: it is pinned") }
        guard !stored.flags.contains(.hasValidator) else {
            return add("expires", "never by itself: its validator can confirm it; eviction removes what is not used")
        }
        guard let staleAt else { return add("expires", "now: eviction removes it before others") }
        add(staleAt > now ? "expires at" : "expired; evicted before others since", at: staleAt)
    }

    private mutating func add(_ event: String, at time: WallTime) {
        let distance = time.milliseconds(since: now)
        let words = distance > 0 ? "in \(Quantity.age(distance))" : "\(Quantity.age(-distance)) ago"
        add(event, "\(Quantity.instant(time)), \(words)")
    }

    private mutating func add(_ event: String, _ text: String) { timers.append(NamedValue(name: event, value: text)) }
}
#endif
