package import Diamond
import Foundation
package import HTTPTypes

/// An explanation of the decisions about a request: what is stored and why, the clause that decides, and what the next
/// send does.
package struct CacheExplanation: Sendable, Encodable {
    /// A stored response to the request, or a variant of it.
    package struct Entry: Sendable, Encodable {
        package let key: String
        /// Whether the request selects it.
        package let isSelected: Bool
        /// Whether a shared cache has stored it.
        package let isShared: Bool
        /// The values that select a variant: lines `NAME VALUE`, credentials as digests. Empty if the key has one
        /// response.
        package let vary: [String]
        /// The bytes that are stored, of how many; absent if the whole response is stored.
        package let part: String?
        package let status: Int
        /// Seconds since the origin made or confirmed the response (RFC 9111 section 4.2.3).
        package let age: Int64
        package let ageSource: String
        /// The freshness lifetime in seconds; absent if there is none.
        package let lifetime: Int64?
        package let lifetimeSource: String
        package let lifetimeClause: String
        /// The field that gives the lifetime, with its value; absent if there is none.
        package let lifetimeField: String?
        /// The seconds for which it stays fresh, negative since it is stale.
        package let freshFor: Int64
    }

    package let url: String
    /// Absent if the response can be neither stored nor shared.
    package let key: String?
    /// The exchange that was made for the explanation; absent if none was.
    package let exchange: Exchange?
    package let stored: [Entry]
    /// The entries of the same URL under other keys.
    package let others: [Other]
    /// The effect of the next send, in words.
    package let next: String
    /// The clause that decides.
    package let clause: String
    package let reason: String
    /// The field that decides, with its value; absent if none does.
    package let field: String?
}

extension CacheExplanation {
    /// Explains a request.
    ///
    /// - Parameters:
    ///   - engine: an engine with the settings of the program that sends the request. It sends nothing.
    ///   - cache: the engine's cache.
    ///   - sent: the response that the engine has just got to the request; `nil` if it was not sent.
    ///   - now: the current time.
    package init(
        of request: Request,
        by engine: Engine,
        in cache: Cache?,
        after sent: SentResponse? = nil,
        at now: WallTime
    ) async throws {
        let preview = try await engine.preview(of: request)
        let entries = try Self.entries(of: preview, in: cache, at: now)
        var exchange: Exchange?
        if let sent {
            exchange = Exchange(
                sent, refusal: try await engine.storeRefusal(of: sent.head, bodySize: sent.bodySize, to: request),
                to: request, in: preview, entries: entries, at: now)
        }
        try self.init(preview, request: request, exchange: exchange, entries: entries, in: cache, at: now)
    }

    /// Explains what a repetition of an entry's request would get. Reads no body, so that damage in it is not noticed.
    ///
    /// - Parameters:
    ///   - entry: an entry of the cache.
    ///   - targets: the targeted fields of a shared cache.
    ///   - now: the current time.
    /// - Throws: ``CacheError``. The explanation is `nil` if the entry cannot be read.
    package init?(of entry: CacheListing, in cache: Cache, targets: [HTTPField.Name], at now: WallTime) throws {
        guard let form = try cache.canonicalForm(of: entry.key) else { return nil }
        let bytes = Array(form.utf8)
        let whole = try entry.isPartial ? nil : cache.storedResponse(of: entry.key, request: bytes, bodyLimit: 0)
        guard let response = try whole ?? cache.partPreview(of: entry.key, request: bytes, at: now)?.response else {
            return nil
        }
        let preview = CachePreview(
            repeating: (response, entry.key), url: entry.url, form: form, targets: targets, at: now)
        let entries = try Self.entries(under: entry.key, of: preview, in: cache, at: now)
        let request = Request(entry.url)
        try self.init(preview, request: request, exchange: nil, entries: entries, in: nil, at: now)
    }

    /// - Parameter cache: the cache whose other entries of the URL are listed; `nil` for none.
    private init(
        _ preview: CachePreview,
        request: Request,
        exchange: Exchange?,
        entries: [Entry],
        in cache: Cache?,
        at now: WallTime
    ) throws {
        let reason = Reason.decision(preview, request: request, entries: entries, at: now)
        url = preview.url
        key = preview.key?.description
        self.exchange = exchange
        stored = entries
        others = try Other.all(of: preview, besides: entries, in: cache)
        next = preview.nextStep
        clause = reason.clause
        self.reason = reason.text
        field = reason.field
    }

    private static func entries(of preview: CachePreview, in cache: Cache?, at now: WallTime) throws -> [Entry] {
        guard let cache, let key = preview.key else { return [] }
        let variants = try cache.list([.variants(of: key)], limit: 1000)
        var entries: [Entry] = []
        var keys: Set<RequestKey> = []
        for listed in variants.map(\.key) + [key] where keys.insert(listed).inserted {
            entries += try self.entries(under: listed, of: preview, in: cache, at: now)
        }
        if let (response, storedKey) = preview.stored, !entries.contains(where: { $0.key == storedKey.description }) {
            entries.append(Entry(response, key: storedKey, isSelected: true, in: preview, at: now))
        }
        return entries
    }

    /// Returns the whole response and the part that are stored under a key.
    private static func entries(
        under key: RequestKey,
        of preview: CachePreview,
        in cache: Cache,
        at now: WallTime
    ) throws -> [Entry] {
        guard let form = try cache.canonicalForm(of: key) else { return [] }
        let request = Array(form.utf8)
        let vary = form.split(separator: "\n").filter { $0.hasPrefix("vary ") }.map { String($0.dropFirst(5)) }
        let isSelected = preview.stored?.key == key
        let selectsPart = preview.stored?.response.status == 206
        var entries: [Entry] = []
        if let whole = try cache.storedResponse(of: key, request: request, bodyLimit: 0),
            !whole.flags.contains(.variants)
        {
            entries.append(
                Entry(whole, key: key, vary: vary, isSelected: isSelected && !selectsPart, in: preview, at: now))
        }
        if let part = try cache.partPreview(of: key, request: request, at: now) {
            entries.append(
                Entry(
                    part.response, key: key, vary: vary, part: part.range, isSelected: isSelected && selectsPart,
                    in: preview, at: now))
        }
        return entries
    }
}

extension CacheExplanation.Entry {
    fileprivate init(
        _ response: StoredResponse,
        key: RequestKey,
        vary: [String] = [],
        part: String? = nil,
        isSelected: Bool,
        in preview: CachePreview,
        at now: WallTime
    ) {
        self.key = key.description
        self.vary = vary
        self.part = part
        self.isSelected = isSelected
        isShared = response.flags.contains(.shared)
        status = response.status
        age = response.age(at: now) / 1000
        ageSource =
            "\(response.initialAge / 1000) s on arrival, \(max(0, now.milliseconds(since: response.storedAt)) / 1000) s since"
        let source = LifetimeSource(of: response, for: preview)
        lifetimeSource = source.text
        lifetimeClause = source.clause
        lifetimeField = source.field
        let maxAge = preview.policy.maxAge.map { $0.components.seconds * 1000 }
        lifetime = source.isPolicy ? maxAge.map { $0 / 1000 } : response.lifetime.map { $0 / 1000 }
        let left = response.needsValidation(at: now) ? 0 : response.remainingLifetime(at: now, maxAge: maxAge)
        // Rounded up: it is 0 only when the response is stale.
        freshFor = left > 0 ? (left - 1) / 1000 + 1 : 0
    }
}
