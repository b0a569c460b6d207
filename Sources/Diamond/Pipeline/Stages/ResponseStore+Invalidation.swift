import Foundation
import HTTPTypes

/// Invalidation by unsafe methods (RFC 9111 section 4.4).
extension ResponseStore {
    /// Invalidates the URLs that an unsafe request has changed: its own, and those of the same origin that the response names.
    func invalidate(after received: ReceivedResponse, to context: RequestContext) {
        guard !context.wire.method.isSafe, mayHaveActed(received) else { return }
        let urls = [HTTPField.Name.location, .contentLocation]
            .compactMap { Redirect.target($0, of: received.headers, from: context.wire)?.url }
            .filter { $0.origin == context.wire.url.origin }
            .map { context.wire.entryURL(of: $0, environment.rules) }
        invalidate(urls, for: context)
    }

    /// Invalidates the URL that an unsafe request without a response may have changed. After a redirect this applies if the last
    /// hop was sent; the redirect has invalidated the URL of the hop before.
    func invalidate(after error: ConnectionError, to context: RequestContext) {
        // The cause is that of the last attempt, and of a single attempt the only source.
        let isCause = (error.cause as? TransportError)?.requestMayHaveBeenSent == true
        let mayHaveActed = isCause || error.attempts.contains(where: \.mayHaveArrived)
        if !context.wire.method.isSafe, mayHaveActed { invalidate([], for: context) }
    }

    /// Marks the groups stale that the response to an unsafe request names (RFC 9875 section 3). Waits for the disk, because only
    /// the file knows the entries of a group.
    func invalidateGroups(after received: ReceivedResponse, to context: RequestContext) async throws(CacheError) {
        guard let cache, !context.wire.method.isSafe, mayHaveActed(received) else { return }
        let names = CacheGroups.names(invalidatedBy: received.headers, origin: context.permitScope.origin)
        for name in names { try await cache.invalidate(.tag(name)) }
    }

    /// Whether the server has acted, or may have acted on an earlier attempt: a repeated DELETE is answered with 404.
    private func mayHaveActed(_ received: ReceivedResponse) -> Bool {
        (200..<400).contains(received.status.code) || received.attempts.count > 1
    }

    /// Invalidates without a wait for the disk, because the exchange may still hold its permit.
    ///
    /// - Parameter urls: the URLs besides the request's own.
    private func invalidate(_ urls: [String], for context: RequestContext) {
        let urls = Set([context.wire.entryURL(environment.rules)] + urls)
        // Without a cache, running exchanges may bring the state before the change.
        if let cache {
            cache.markStale(urls: urls)
        } else {
            for url in urls { invalidations.addChange(of: url) }
        }
        guard let key = ownKey(context.wire) else { return }
        if let cache { cache.removeOutdated(key) } else { invalidations.add(.key(key), isErasure: false) }
    }

    /// Returns the key of a GET, if the app has set the cache key of the request.
    private func ownKey(_ wire: WireRequest) -> RequestKey? {
        guard wire.cacheKey != nil else { return nil }
        var get = wire
        get.method = .get
        get.body = nil
        return try? CanonicalForm(of: get, rules: environment.rules).key
    }
}
