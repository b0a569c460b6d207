import Foundation
import HTTPTypes

extension Passage {
    /// What does not change on the way. A class, because a passage goes through every step, and more is copied than used.
    final class Content: Sendable {
        let wire: WireRequest
        let policy: CachePolicy
        let timeout: Duration?
        // It is large, and few have one.
        let retry: Boxed<RetryPolicy>
        let bodyLimit: Int?
        let tags: Set<String>
        let place: FlightPlace
        let url: String
        let identity: Boxed<Identity>
        let isContinuable: Bool
        /// The files that its identity tells of, as they were then.
        let files: [FileLook]

        init(_ request: borrowing Request, _ rules: KeyRules) throws(RequestError) {
            let wire = try WireRequest(request)
            let isUnconditional = !Self.hasConditions(wire.headers)
            self.wire = wire
            policy = Self.policy(of: request)
            (timeout, retry, bodyLimit, tags) = (request.timeout, Boxed(request.retry), request.bodyLimit, request.tags)
            place = FlightPlace(lane: request.lane, origin: String(decoding: wire.url.origin, as: UTF8.self))
            url = wire.url.text(adding: wire.parameterItems)
            isContinuable = wire.method == .get && wire.body == nil && isUnconditional
            guard isUnconditional, Self.isKeyed(wire, policy) else {
                (identity, files) = (.none, [])
                return
            }
            // Before they are read: what changes from now on is another request's body.
            files = wire.cacheKey == nil ? wire.body?.files.compactMap { FileLook($0.path) } ?? [] : []
            let form = try CanonicalForm(of: wire, rules: rules)
            identity = .some(
                Identity(
                    key: form.key, canonicalForm: form.bytes, entryURL: wire.entryURL(rules),
                    hasOneURL: Self.hasOneURL(wire, rules), isFoundByOthers: wire.isFoundByOthers(rules)))
        }

        /// Whether the answer may be another's, too.
        private static func isKeyed(_ wire: WireRequest, _ policy: CachePolicy) -> Bool {
            let isCacheable = wire.method.isCacheable && !CacheControl(wire.headers).noStore
            let isAnonymous = wire.identity == nil && !wire.namedCredentials.isEmpty
            return policy.mode != .noStore && isCacheable && !isAnonymous
        }

        /// Not with a key of the app's own, nor where an identity stands for parameters, or the request ignores some itself.
        private static func hasOneURL(_ wire: WireRequest, _ rules: KeyRules) -> Bool {
            let hasReplaced = wire.identity != nil && !(rules.own.secrets.isEmpty && wire.rules.secrets.isEmpty)
            return wire.cacheKey == nil && wire.rules.ignoring.isEmpty && !hasReplaced
        }

        private static let conditions: [HTTPField.Name] = [
            .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
        ]

        /// Whether the caller asks for an answer to exactly these: the cache keeps out.
        private static func hasConditions(_ headers: HTTPFields) -> Bool {
            headers.contains { conditions.contains($0.name) }
        }

        private static func policy(of request: borrowing Request) -> CachePolicy {
            var policy = request.cache
            guard request.headers.contains(.cacheControl) else { return policy }
            let control = CacheControl(request.headers)
            if control.noCache || control.maxAge == 0, policy.mode == .automatic { policy.mode = .revalidate }
            if control.onlyIfCached { policy.mode = .cacheOnly }
            return policy
        }
    }
}
