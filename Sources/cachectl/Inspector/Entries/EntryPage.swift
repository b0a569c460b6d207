#if Tools
import Diamond
import DiamondInspection
import Foundation
import HTTPTypes

/// One entry: its request and response, and what decides about it.
struct EntryPage {
    struct Field {
        let name: String
        let value: String
    }

    let key: String
    let path: String
    let url: String
    let method: String
    let isPinned: Bool
    let facts: [Field]
    /// Whether the response can be read.
    let isReadable: Bool
    let isWhole: Bool
    let requestLines: String
    let fields: [Field]
    let timers: [EntryTimers.Timer]
    let body: BodyPreview?
    let decision: EntryDecision?
    /// A sentence about the action that has led here; `nil` if there was none.
    let done: String?

    static let routes = [
        Route.page("/entries/{key}") { request, inspector in
            let cache = try await inspector.cache()
            let page = try EntryPage(FoundEntry(request, in: cache), done: request.query["done"], in: cache)
            return await inspector.page("entry", title: "\(page.method) \(page.url)", section: "/entries", page)
        }
    ]

    init(_ entry: FoundEntry, done: String, in cache: Cache) throws {
        let now = WallTime.now
        let response = try entry.response()
        let listing = entry.listing
        let targets = Engine.Configuration(store: nil).targetedFields.compactMap { HTTPField.Name($0) }
        let row = EntryRow(listing, url: entry.url, now: now)
        key = row.key
        path = entry.path
        url = entry.url
        method = listing.method
        isPinned = row.isPinned
        facts = Self.facts(of: row, status: listing.status)
        isReadable = response != nil
        isWhole = response != nil && !listing.isPartial
        requestLines = entry.form
        fields = (response?.headers ?? [:]).map { Field(name: $0.name.rawName, value: SecretNames.masked($0)) }
        timers = response.map { EntryTimers(of: $0, targets: targets, at: now).timers } ?? []
        body = isWhole ? response.map { BodyPreview($0, of: entry) } : nil
        decision = isReadable ? try EntryDecision(about: listing, in: cache, targets: targets, at: now) : nil
        self.done = EntryActions.sentences[done]
    }

    private static func facts(of row: EntryRow, status: Int) -> [Field] {
        [
            Field(name: "Status", value: String(status)), Field(name: "Size", value: row.size),
            Field(name: "Age", value: row.age), Field(name: "Fresh", value: row.fresh),
            Field(name: "Pinned", value: row.isPinned ? "yes" : "no"), Field(name: "Key", value: row.key),
        ]
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

    /// A variant under the key of the entry.
    struct Variant {
        let path: String
        let shortKey: String
        let status: String
        let url: String
    }

    let next: String
    let reason: String
    let clause: String
    let field: String?
    let stored: [Stored]
    let variants: [Variant]

    /// Returns `nil` if the entry cannot be read.
    fileprivate init?(about listing: CacheListing, in cache: Cache, targets: [HTTPField.Name], at now: WallTime) throws
    {
        guard let explanation = try CacheExplanation(of: listing, in: cache, targets: targets, at: now) else {
            return nil
        }
        self.init(explanation, variants: try cache.list([.variants(of: listing.key)], limit: 100))
    }

    private init(_ explanation: CacheExplanation, variants: [CacheListing]) {
        next = explanation.next
        reason = explanation.reason
        clause = explanation.clause
        field = explanation.field
        stored = explanation.stored.map { Stored($0) }
        let known = Set(explanation.stored.map(\.key))
        self.variants = variants.filter { !known.contains($0.key.description) }.map { Variant($0) }
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

extension EntryDecision.Variant {
    fileprivate init(_ listing: CacheListing) {
        path = "/entries/\(listing.key)"
        shortKey = String(listing.key.description.prefix(12))
        status = String(listing.status)
        url = listing.url
    }
}
#endif
