import Diamond
import Foundation
import HTTPTypes

/// The rule that decides, in words.
struct Reason {
    /// The section of the RFC, or a word for a rule of the cache's own.
    let clause: String
    let text: String
    /// The field that decides, with its value.
    let field: String?

    init(_ clause: String, _ text: String, _ field: String? = nil) {
        self.clause = clause
        self.text = text
        self.field = field
    }
}

/// The decision about a request.
extension Reason {
    /// Returns the rule that decides what the next request does.
    ///
    /// - Parameter entries: the stored responses under the key of the request.
    static func decision(
        _ preview: CachePreview,
        request: Request,
        entries: [CacheExplanation.Entry],
        at now: WallTime
    ) -> Reason {
        guard preview.key != nil else { return unkeyed(request, in: preview) }
        let own = DecidingField.request(.cacheControl, in: request.headers)
        if case .fail = preview.decision, preview.control?.onlyIfCached == true {
            let text = "the request has only-if-cached, and no stored response may answer it"
            return Reason("RFC 9111 section 5.2.1.7", text, own)
        }
        guard let stored = preview.stored?.response else { return missing(preview, entries: entries) }
        guard preview.policy.mode == .automatic || validatesForOthers(stored, for: preview) else {
            return Reason("policy", "the request's policy is \(preview.policy.mode.rawValue)")
        }
        let lifetime = LifetimeSource(of: stored, for: preview).field
        switch preview.decision {
        case .serve(.stale):
            return Reason("RFC 9111 section 5.2.1.2", "the request's max-stale accepts the stale response", own)
        case .serve where isTooOld(stored, for: preview, at: now):
            return Reason("RFC 8246 section 2", "the response is immutable while it is fresh", lifetime)
        case .serve:
            let text = "the stored response is fresh, and the request accepts it"
            return Reason("RFC 9111 section 4.2", text, lifetime)
        case .serveStaleAndRefresh:
            let control = DecidingField.control(in: stored.headers, targets: preview.targets)
            let text = "the response is stale within its stale-while-revalidate"
            return Reason("RFC 5861 section 3", text, control)
        case .ask, .fail: return validation(of: stored, preview, request: request, at: now)
        }
    }

    /// Whether the response is validated because it may be for one user, although the policy would serve it.
    private static func validatesForOthers(_ stored: StoredResponse, for preview: CachePreview) -> Bool {
        switch preview.policy.mode {
        case .revalidate, .reload, .noStore: false
        default: stored.mayBeForOneUser
        }
    }

    private static func isTooOld(_ stored: StoredResponse, for preview: CachePreview, at now: WallTime) -> Bool {
        preview.control?.maxAge.map { stored.age(at: now) > $0 * 1000 } ?? false
    }

    private static func unkeyed(_ request: Request, in preview: CachePreview) -> Reason {
        if preview.policy.mode == .noStore { return Reason("policy", "the request's policy is noStore") }
        if preview.control?.noStore == true {
            let field = DecidingField.request(.cacheControl, in: request.headers)
            return Reason("RFC 9111 section 5.2.1.5", "the request has no-store", field)
        }
        guard [.get, .head, .query].contains(request.method) else {
            return Reason("RFC 9111 section 2", "responses to \(request.method.rawValue) are not reused")
        }
        for name in [HTTPField.Name.ifMatch, .ifUnmodifiedSince] where request.headers.contains(name) {
            let text = "the origin server evaluates If-Match and If-Unmodified-Since"
            return Reason(
                "RFC 9111 section 4.3.2", text, DecidingField.request(name, in: request.headers))
        }
        return Reason("identity", "the user is unknown: the request has a secret or a cookie, and no identity")
    }

    // MARK: Misses

    private static func missing(_ preview: CachePreview, entries: [CacheExplanation.Entry]) -> Reason {
        if !entries.isEmpty, entries.allSatisfy({ $0.isShared != (preview.kind == .shared) }) {
            let kind = preview.kind == .shared ? "private" : "shared"
            return Reason("kind", "what is stored belongs to a \(kind) cache")
        }
        let differing = differingFields(of: preview, entries: entries)
        guard differing.isEmpty else {
            let text = "no stored variant has the values of the request"
            return Reason("RFC 9111 section 4.1", text, differing.joined(separator: "; "))
        }
        return Reason("RFC 9111 section 4", "no stored response matches the request")
    }

    /// Returns the fields by which the request differs from all stored variants: `accept-language fr (stored: de, en)`.
    private static func differingFields(of preview: CachePreview, entries: [CacheExplanation.Entry]) -> [String] {
        preview.selection.map { String($0.dropFirst("vary ".count)) }.compactMap { line in
            let name = String(line.prefix { $0 != " " })
            let stored = Set(entries.flatMap(\.vary).filter { $0 == name || $0.hasPrefix(name + " ") })
            guard !stored.isEmpty, !stored.contains(line) else { return nil }
            let values = stored.sorted().map { $0 == name ? "none" : String($0.dropFirst(name.count + 1)) }
            return "request \(line == name ? name + " none" : line) (stored: \(values.joined(separator: ", ")))"
        }
    }

    // MARK: Validation

    private static func validation(
        of stored: StoredResponse,
        _ preview: CachePreview,
        request: Request,
        at now: WallTime
    ) -> Reason {
        let control = preview.control
        let received = DecidingField.control(in: stored.headers, targets: preview.targets)
        if stored.flags.contains(.invalidated) {
            return Reason("RFC 9111 section 4.4", "the stored response was invalidated")
        }
        if stored.flags.contains(.noCache) {
            return Reason("RFC 9111 section 5.2.2.4", "the response has no-cache", received)
        }
        let maxAge = preview.policy.maxAge.map { $0.components.seconds * 1000 }
        let isStale = stored.remainingLifetime(at: now, maxAge: maxAge) <= 0
        if stored.mayBeForOneUser {
            // A new entry like this one has the directive. Others were stored before it was demanded.
            if isStale, stored.flags.contains(.mustRevalidate) { return mustRevalidate(received) }
            return Reason(
                "credentials", "an older version has stored the response, which may be for one user", received)
        }
        if stored.needsValidation(at: now) {
            return Reason("RFC 9111 section 4.2.3", "the clock is earlier than the arrival of the response")
        }
        let own =
            DecidingField.request(.cacheControl, in: request.headers)
            ?? HTTPField.Name("Pragma").flatMap { DecidingField.request($0, in: request.headers) }
        if control?.noCache == true {
            return Reason("RFC 9111 section 5.2.1.4", "the request has no-cache", own)
        }
        if !isStale {
            return control?.maxAge != nil
                ? Reason("RFC 9111 section 5.2.1.1", "the response is older than the request's max-age", own)
                : Reason(
                    "RFC 9111 section 5.2.1.3", "the response does not stay fresh for the request's min-fresh", own)
        }
        return stored.flags.contains(.mustRevalidate)
            ? mustRevalidate(received)
            : Reason(
                "RFC 9111 section 4.2.4", "the response is stale", LifetimeSource(of: stored, for: preview).field)
    }

    private static func mustRevalidate(_ field: String?) -> Reason {
        Reason("RFC 9111 section 5.2.2.2", "the response is stale, and has must-revalidate", field)
    }
}

extension CachePreview {
    /// The effect of the next request.
    var nextStep: String {
        switch decision {
        case .serve(.stale): "is answered from the cache, stale"
        case .serve: "is answered from the cache"
        case .serveStaleAndRefresh: "is answered from the cache, stale, and refreshes it in the background"
        case .ask(conditionally: true, _): "asks the server whether the stored response is still valid"
        case .ask: "sends the request to the server"
        case .fail: "fails with 504: only the cache may answer"
        }
    }
}
