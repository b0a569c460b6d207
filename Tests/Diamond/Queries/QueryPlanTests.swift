import Testing

@testable import Diamond

@Suite("The plan of a query") struct QueryPlanTests {
    private struct Row: Sendable, CustomStringConvertible {
        let need: QueryNeed
        let mode: CachePolicy.Mode
        let entry: QueryEntry?
        var hasLostEntry = false
        let shows: Bool
        let fetch: CachePolicy.Mode?
        var description: String { "\(need) \(mode) \(entry.map { "\($0)" } ?? "nothing stored")" }
    }

    private static func entry(
        _ condition: QueryEntry.Condition, _ relation: QueryEntry.Relation = .newer, hasChanged: Bool = true
    ) -> QueryEntry {
        QueryEntry(condition: condition, relation: relation, hasChanged: hasChanged)
    }

    private static let rows: [Row] = [
        // The stored value, then a fresh value.
        Row(need: .freshen, mode: .automatic, entry: nil, shows: false, fetch: .automatic),
        Row(need: .freshen, mode: .automatic, entry: entry(.fresh), shows: true, fetch: nil),
        Row(need: .freshen, mode: .automatic, entry: entry(.stale), shows: true, fetch: .automatic),
        Row(need: .freshen, mode: .automatic, entry: entry(.invalidated), shows: true, fetch: .automatic),
        Row(need: .freshen, mode: .automatic, entry: entry(.stale, .same), shows: false, fetch: .automatic),
        Row(need: .freshen, mode: .staleWhileRevalidate, entry: entry(.stale), shows: true, fetch: .automatic),
        Row(need: .freshen, mode: .cacheElseNetwork, entry: entry(.stale), shows: true, fetch: nil),
        Row(need: .freshen, mode: .cacheElseNetwork, entry: entry(.invalidated), shows: true, fetch: .automatic),
        Row(need: .freshen, mode: .cacheElseNetwork, entry: nil, shows: false, fetch: .automatic),
        Row(need: .freshen, mode: .networkElseCache, entry: entry(.fresh), shows: true, fetch: .networkElseCache),
        Row(need: .freshen, mode: .revalidate, entry: entry(.fresh), shows: true, fetch: .revalidate),
        Row(need: .freshen, mode: .cacheOnly, entry: entry(.stale), shows: true, fetch: nil),
        Row(need: .freshen, mode: .cacheOnly, entry: nil, shows: false, fetch: nil),
        Row(need: .freshen, mode: .reload, entry: entry(.fresh), shows: false, fetch: .reload),
        Row(need: .freshen, mode: .noStore, entry: entry(.fresh), shows: false, fetch: .noStore),
        // The server is asked, whatever is stored.
        Row(need: .ask, mode: .automatic, entry: entry(.fresh, .same), shows: false, fetch: .revalidate),
        Row(need: .ask, mode: .automatic, entry: entry(.fresh), shows: true, fetch: .revalidate),
        Row(need: .ask, mode: .cacheElseNetwork, entry: entry(.stale, .same), shows: false, fetch: .revalidate),
        Row(need: .ask, mode: .networkElseCache, entry: nil, shows: false, fetch: .networkElseCache),
        Row(need: .ask, mode: .noStore, entry: nil, shows: false, fetch: .noStore),
        Row(need: .ask, mode: .cacheOnly, entry: entry(.invalidated), shows: true, fetch: nil),
        // Another caller or process may have changed the entry.
        Row(need: .compare, mode: .automatic, entry: nil, shows: false, fetch: nil),
        Row(need: .compare, mode: .automatic, entry: nil, hasLostEntry: true, shows: false, fetch: .revalidate),
        Row(need: .compare, mode: .automatic, entry: entry(.stale), shows: true, fetch: nil),
        Row(need: .compare, mode: .automatic, entry: entry(.stale, .same), shows: false, fetch: nil),
        Row(need: .compare, mode: .automatic, entry: entry(.fresh, .unclear), shows: false, fetch: .revalidate),
        Row(need: .compare, mode: .automatic, entry: entry(.invalidated, .same), shows: false, fetch: .revalidate),
        Row(
            need: .compare, mode: .automatic, entry: entry(.invalidated, .same, hasChanged: false), shows: false,
            fetch: nil),
        Row(need: .compare, mode: .cacheOnly, entry: entry(.invalidated, .same), shows: false, fetch: nil),
        Row(need: .compare, mode: .reload, entry: entry(.stale), shows: false, fetch: nil),
        Row(need: .compare, mode: .noStore, entry: nil, hasLostEntry: true, shows: false, fetch: nil),
        Row(need: .nothing, mode: .automatic, entry: entry(.stale), shows: false, fetch: nil),
    ]

    @Test(arguments: rows) private func `a query shows its entry and fetches by its need, policy and entry`(row: Row) {
        let plan = QueryPlan(for: row.need, mode: row.mode, entry: row.entry, hasLostEntry: row.hasLostEntry)
        #expect(plan.showsEntry == row.shows && plan.fetch == row.fetch)
    }
}
