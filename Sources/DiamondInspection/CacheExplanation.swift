package import Diamond
import Foundation
import HTTPTypes

/// An explanation of the decision about a request: what is stored, the clause that decides, and what the next send
/// does.
package struct CacheExplanation: Sendable, Encodable {
    /// A stored response to the request, or a variant of it.
    package struct Entry: Sendable, Encodable {
        package let key: String
        /// Whether the request selects it.
        package let isSelected: Bool
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
        /// The seconds for which it stays fresh, negative since it is stale.
        package let freshFor: Int64
    }

    package let url: String
    /// Absent if the response can be neither stored nor shared.
    package let key: String?
    package let stored: [Entry]
    /// The effect of the next send, in words.
    package let next: String
    /// The clause that decides.
    package let clause: String
    package let reason: String
}

extension CacheExplanation {
    /// Explains a request.
    ///
    /// - Parameters:
    ///   - engine: an engine with the settings of the program that sends the request. It sends nothing.
    ///   - cache: the engine's cache.
    ///   - now: milliseconds since 1970.
    package init(of request: Request, by engine: Engine, in cache: Cache?, at now: Int64) async throws {
        let preview = try await engine.preview(of: request)
        let reason = DecisionReason(preview, request: request, at: now)
        url = preview.url
        key = preview.key?.description
        stored = try Self.entries(of: preview, in: cache, at: now)
        next = reason.next
        clause = reason.clause
        self.reason = reason.text
    }

    private static func entries(of preview: CachePreview, in cache: Cache?, at now: Int64) throws -> [Entry] {
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
        at now: Int64
    ) throws -> [Entry] {
        guard let form = try cache.canonicalForm(of: key) else { return [] }
        let request = Array(form.utf8)
        let vary = form.split(separator: "\n").filter { $0.hasPrefix("vary ") }.map { String($0.dropFirst(5)) }
        let isSelected = preview.stored?.key == key
        let selectsPart = preview.stored?.response.status == 206
        var entries: [Entry] = []
        if let whole = try cache.findOnDisk(key, request: request), !whole.flags.contains(.variants) {
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
        at now: Int64
    ) {
        self.key = key.description
        self.vary = vary
        self.part = part
        self.isSelected = isSelected
        status = response.status
        age = response.age(at: now) / 1000
        ageSource = "\(response.initialAge / 1000) s on arrival, \(max(0, now - response.storedAt) / 1000) s since"
        let source = LifetimeSource(of: response, for: preview)
        lifetimeSource = source.text
        let maxAge = preview.policy.maxAge.map { $0.components.seconds * 1000 }
        lifetime = source.isPolicy ? maxAge.map { $0 / 1000 } : response.lifetime.map { $0 / 1000 }
        freshFor = response.needsValidation(at: now) ? 0 : response.remainingLifetime(at: now, maxAge: maxAge) / 1000
    }
}

/// The field that gives a response its lifetime (RFC 9111 section 4.2.1).
private struct LifetimeSource {
    let text: String
    var isPolicy = false

    init(of response: StoredResponse, for preview: CachePreview) {
        let policy = preview.policy
        let control = CacheControl(response.headers, targets: preview.targets)
        if response.lifetime == nil || response.flags.contains(.heuristic) {
            isPolicy = policy.maxAge != nil && response.status < 400
            text =
                isPolicy
                ? "the request's maxAge" : response.lifetime == nil ? "none" : "a tenth of the time since Last-Modified"
        } else if preview.kind == .shared, control.sharedMaxAge != nil {
            text = "s-maxage" + (control.isTargeted ? " of a targeted field" : "")
        } else if control.maxAge != nil {
            text = "max-age" + (control.isTargeted ? " of a targeted field" : "")
        } else {
            text = "Expires"
        }
    }
}
