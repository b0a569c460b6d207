import Diamond
import Foundation
import HTTPTypes

/// The clause that decides about a request, in words.
struct DecisionReason {
    let next: String
    let clause: String
    let text: String

    init(_ preview: CachePreview, request: Request, at now: Int64) {
        next = Self.next(preview)
        (clause, text) = Self.reason(preview, request: request, at: now)
    }

    private static func next(_ preview: CachePreview) -> String {
        switch preview.decision {
        case .serve(.stale): "is answered from the cache, stale"
        case .serve: "is answered from the cache"
        case .serveStaleAndRefresh: "is answered from the cache, stale, and refreshes it in the background"
        case .ask(conditionally: true, _): "asks the server whether the stored response is still valid"
        case .ask: "sends the request to the server"
        case .fail: "fails with 504: only the cache may answer"
        }
    }

    private static func reason(_ preview: CachePreview, request: Request, at now: Int64) -> (
        clause: String, text: String
    ) {
        guard preview.key != nil else { return unkeyed(request, in: preview) }
        if case .fail = preview.decision, preview.control?.onlyIfCached == true {
            return ("RFC 9111 section 5.2.1.7", "the request has only-if-cached, and no stored response may answer it")
        }
        guard let stored = preview.stored?.response else {
            return ("RFC 9111 section 4", "no stored response matches the request")
        }
        guard preview.policy.mode == .automatic else {
            return ("policy", "the request's policy is \(preview.policy.mode.rawValue)")
        }
        switch preview.decision {
        case .serve(.stale): return ("RFC 9111 section 5.2.1.2", "the request's max-stale accepts the stale response")
        case .serve: return ("RFC 9111 section 4.2", "the stored response is fresh, and the request accepts it")
        case .serveStaleAndRefresh:
            return ("RFC 5861 section 3", "the response is stale within its stale-while-revalidate")
        case .ask, .fail: return validation(of: stored, preview, at: now)
        }
    }

    private static func unkeyed(_ request: Request, in preview: CachePreview) -> (clause: String, text: String) {
        if preview.policy.mode == .noStore { return ("policy", "the request's policy is noStore") }
        if preview.control?.noStore == true { return ("RFC 9111 section 5.2.1.5", "the request has no-store") }
        guard [.get, .head, .query].contains(request.method) else {
            return ("RFC 9111 section 2", "responses to \(request.method.rawValue) are not reused")
        }
        if request.headers.contains(.ifMatch) || request.headers.contains(.ifUnmodifiedSince) {
            return ("RFC 9111 section 4.3.2", "the origin server evaluates If-Match and If-Unmodified-Since")
        }
        return ("identity", "the user is unknown: the request has a secret or a cookie, and no identity")
    }

    private static func validation(
        of stored: StoredResponse,
        _ preview: CachePreview,
        at now: Int64
    ) -> (clause: String, text: String) {
        let control = preview.control
        if stored.flags.contains(.invalidated) {
            return ("RFC 9111 section 4.4", "the stored response was invalidated")
        }
        if stored.flags.contains(.noCache) {
            return ("RFC 9111 section 5.2.2.4", "the response has no-cache")
        }
        if stored.needsValidation(at: now) {
            return ("RFC 9111 section 4.2.3", "the clock is earlier than the arrival of the response")
        }
        if control?.noCache == true { return ("RFC 9111 section 5.2.1.4", "the request has no-cache") }
        let maxAge = preview.policy.maxAge.map { $0.components.seconds * 1000 }
        if stored.remainingLifetime(at: now, maxAge: maxAge) > 0 {
            return control?.maxAge != nil
                ? ("RFC 9111 section 5.2.1.1", "the response is older than the request's max-age")
                : ("RFC 9111 section 5.2.1.3", "the response does not stay fresh for the request's min-fresh")
        }
        return stored.flags.contains(.mustRevalidate)
            ? ("RFC 9111 section 5.2.2.2", "the response is stale, and has must-revalidate")
            : ("RFC 9111 section 4.2.4", "the response is stale")
    }
}
