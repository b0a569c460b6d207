/// The most urgent work of a query.
enum QueryNeed: Int, Comparable, CaseIterable {
    case nothing
    /// The entry is compared with the value, because another caller or process may have changed it. A newer one is
    /// shown.
    case compare
    /// The value is fetched, unless the cache has a fresh one.
    case freshen
    /// The server is asked.
    case ask

    static func < (left: QueryNeed, right: QueryNeed) -> Bool { left.rawValue < right.rawValue }
}

/// The stored entry of a query, compared with the value that its observers have.
struct QueryEntry: Equatable, Sendable {
    enum Condition: CaseIterable { case fresh, stale, invalidated }

    enum Relation: CaseIterable {
        /// Observers have this entry, or it was refused before.
        case same
        /// The entry's request was sent after the value had arrived, or there is no value.
        case newer
        /// The entry and the value differ, and either may be newer.
        case unclear
    }

    var condition: Condition
    var relation: Relation
    /// Whether the entry has changed since the last lookup.
    var hasChanged = true
}

/// The steps by which a query gets a value. They are computed without I/O; ``Query`` performs them.
struct QueryPlan: Equatable, Sendable {
    /// Whether the stored response is shown first.
    var showsEntry = false
    /// The policy of the fetch; `nil` for none.
    var fetch: CachePolicy.Mode?

    /// - Parameters:
    ///   - mode: the policy of the query's request.
    ///   - entry: the stored entry; `nil` if nothing is stored.
    ///   - hasLostEntry: whether the value was stored before.
    init(for need: QueryNeed, mode: CachePolicy.Mode, entry: QueryEntry?, hasLostEntry: Bool = false) {
        showsEntry = mode.readsCache && entry?.relation == .newer
        switch need {
        case .nothing: showsEntry = false
        case .compare where mode.readsCache:
            let isOutdated = entry.map { $0.relation == .unclear || $0.condition == .invalidated && $0.hasChanged }
            if isOutdated ?? hasLostEntry { fetch = mode.asking }
        case .compare: break
        case .freshen: fetch = mode.freshening(entry?.condition)
        case .ask: fetch = mode.asking
        }
    }
}

extension CachePolicy.Mode {
    fileprivate var readsCache: Bool { self != .reload && self != .noStore }

    /// The policy that asks the server; `nil` if the server must not be asked.
    var asking: CachePolicy.Mode? {
        switch self {
        case .automatic, .staleWhileRevalidate, .cacheElseNetwork, .revalidate: .revalidate
        case .networkElseCache, .reload, .noStore: self
        case .cacheOnly: nil
        }
    }

    /// Returns the policy that fetches a value that is not fresh; `nil` if the stored entry suffices.
    fileprivate func freshening(_ stored: QueryEntry.Condition?) -> CachePolicy.Mode? {
        switch self {
        case .automatic, .staleWhileRevalidate: stored == .fresh ? nil : .automatic
        case .cacheElseNetwork: stored == .fresh || stored == .stale ? nil : .automatic
        case .networkElseCache, .revalidate, .reload, .noStore: self
        case .cacheOnly: nil
        }
    }
}
