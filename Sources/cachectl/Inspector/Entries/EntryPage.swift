#if Tools
import Diamond
import DiamondInspection
import Foundation
import HTTPTypes

/// One entry: its request and response, and what decides about it.
struct EntryPage {
    let row: EntryRow
    let facts: [NamedValue]
    /// Whether the response can be read.
    let isReadable: Bool
    let isWhole: Bool
    let requestLines: String
    let fields: [NamedValue]
    let timers: [NamedValue]
    let body: BodyPreview?
    let decision: EntryDecision?
    /// A sentence about the action that has led here; `nil` if there was none.
    let done: String?

    static let routes = [
        Route.page("/entries/{key}") { request, inspector in
            let page = try EntryPage(await inspector.entry(of: request), done: request.query["done"])
            return await inspector.page("entry", title: "\(page.row.method) \(page.row.url)", section: "/entries", page)
        }
    ]

    init(_ entry: FoundEntry, done: String) throws {
        let now = WallTime.now
        let response = try entry.response()
        let listing = entry.listing
        let targets = Engine.Configuration(store: nil).targetedFields.compactMap { HTTPField.Name($0) }
        let row = EntryRow(listing, url: entry.url, now: now)
        self.row = row
        facts = NamedValue.all([
            "Status": row.status, "Size": row.size, "Age": row.age, "Fresh": row.fresh,
            "Pinned": row.isPinned ? "yes" : "no", "Key": row.key,
        ])
        isReadable = response != nil
        isWhole = response != nil && !listing.isPartial
        requestLines = entry.form
        fields = NamedValue.masked(response?.headers ?? [:])
        timers = response.map { EntryTimers(of: $0, targets: targets, at: now).timers } ?? []
        body = isWhole ? response.map { BodyPreview($0, of: entry) } : nil
        decision = isReadable ? try EntryDecision(about: listing, in: entry.cache, targets: targets, at: now) : nil
        self.done = EntryActions.sentences[done]
    }
}

/// The decision about the next equal request, and the stored responses it chooses from.
struct EntryDecision {
    /// A stored response, or a variant.
    struct Stored {
        let path: String
        let shortKey: String
        let status: String
        let isSelected: Bool
        let vary: String
        let age: String
        let lifetime: String
        let clause: String
        /// The field that has the lifetime. A template would find the `field` of the decision if this had that name.
        let lifetimeField: String?
    }

    let next: String
    let reason: String
    let clause: String
    let field: String?
    let stored: [Stored]
    /// The other variants under the key of the entry.
    let variants: [EntryRow]

    /// Returns `nil` if the entry cannot be read.
    fileprivate init?(about listing: CacheListing, in cache: Cache, targets: [HTTPField.Name], at now: WallTime) throws
    {
        guard let explanation = try CacheExplanation(of: listing, in: cache, targets: targets, at: now) else {
            return nil
        }
        next = explanation.next
        reason = explanation.reason
        clause = explanation.clause
        field = explanation.field
        stored = explanation.stored.map { Stored($0) }
        let known = Set(explanation.stored.map(\.key))
        variants = try cache.list([.variants(of: listing.key)], limit: 100)
            .filter { !known.contains($0.key.description) }.map { EntryRow($0, url: $0.url, now: now) }
    }
}

extension EntryDecision.Stored {
    fileprivate init(_ entry: CacheExplanation.Entry) {
        path = "/entries/\(entry.key)"
        shortKey = String(entry.key.prefix(12))
        status = String(entry.status)
        isSelected = entry.isSelected
        vary = entry.vary.joined(separator: ", ")
        age = "\(entry.age) s: \(entry.ageSource)"
        let freshness = entry.freshFor > 0 ? "fresh for \(entry.freshFor) s" : "stale"
        lifetime = "\(entry.lifetime.map { "\($0) s" } ?? "none"), from \(entry.lifetimeSource); \(freshness)"
        clause = entry.lifetimeClause
        lifetimeField = entry.lifetimeField
    }
}

extension NamedValue {
    /// Returns the fields of a response, with their secrets masked.
    static func masked(_ fields: HTTPFields) -> [NamedValue] {
        fields.map { NamedValue(name: $0.name.rawName, value: SecretNames.masked($0)) }
    }
}
#endif
