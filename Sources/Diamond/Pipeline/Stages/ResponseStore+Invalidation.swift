import Foundation
import HTTPTypes

/// Invalidation by unsafe methods (RFC 9111 section 4.4).
extension ResponseStore {
    /// Marks stale what an unsafe request has changed: its URL, the URLs of the same origin that the response names,
    /// the groups that it names (RFC 9875 section 3), and the tags that the request names (``Request/invalidates``).
    /// The URLs are marked without a wait. Groups and tags wait for the disk, because only the file knows their
    /// entries. A cache that cannot be written is reported.
    func invalidate(after received: ReceivedResponse, to context: RequestContext) async {
        guard !context.wire.method.isSafe, serverMayHaveActed(received) else { return }
        let urls = [HTTPField.Name.location, .contentLocation]
            .compactMap { Redirect.target($0, of: received.headers, from: context.wire)?.url }
            .filter { $0.origin == context.wire.url.origin }
            .map { context.wire.entryURL(of: $0, environment.rules) }
        var names = CacheGroups.names(invalidatedBy: received.headers, origin: context.permitScope.origin)
        if !isToBeRepeated(received, method: context.wire.method) { names.formUnion(context.resolved.invalidates) }
        await invalidate(urls, names: names, for: context)
    }

    /// Marks stale what an unsafe request without a response may have changed. After a redirect this applies if the
    /// last hop was sent; the redirect has invalidated the URL of the hop before.
    func invalidate(after error: ConnectionError, to context: RequestContext) async {
        guard !context.wire.method.isSafe else { return }
        // The cause is that of the last attempt, and of a single attempt the only source.
        let isCause = (error.cause as? TransportError)?.serverMayHaveActed == true
        guard isCause || error.attempts.contains(where: \.serverMayHaveActed) else { return }
        await invalidate([], names: context.resolved.invalidates, for: context)
    }

    /// Whether the server has acted, or may have acted on an earlier attempt: a repeated DELETE is answered with 404.
    private func serverMayHaveActed(_ received: ReceivedResponse) -> Bool {
        (200..<400).contains(received.status.code) || received.attempts.count > 1
    }

    /// Whether a redirect asks for the same request at another URL. The server has not acted then.
    private func isToBeRepeated(_ received: ReceivedResponse, method: HTTPRequest.Method) -> Bool {
        received.status.kind == .redirection && !Redirect.dropsBody(status: received.status.code, method: method)
    }

    /// Marks URLs, groups and tags stale, and tells observers when all are marked. The exchange may still hold its
    /// permit.
    ///
    /// - Parameter urls: the URLs in addition to the request's own.
    private func invalidate(
        _ urls: [String], names: Tags, for context: RequestContext
    ) async {
        let urls = Set([context.wire.entryURL(environment.rules)] + urls)
        let key = ownKey(context.wire)
        markAtOnce(urls, key: key)
        let tags = names.map { CacheSelection.tag($0) }
        var failure: CacheError?
        for tag in tags {
            guard let cache else {
                invalidations.add(tag, isErasure: false)
                continue
            }
            // A tag that cannot be written is marked in memory, and so are those after it.
            do throws(CacheError) { try await cache.mark(tag) } catch { failure = failure ?? error }
        }
        invalidations.announce(CacheInvalidation(of: tags + (key.map { [.key($0)] } ?? []), changedURLs: urls))
        if let failure { lookup.report(failure) }
    }

    private func markAtOnce(_ urls: Set<String>, key: RequestKey?) {
        // Without a cache, running exchanges may bring the state before the change.
        if let cache {
            cache.markStale(urls: urls)
        } else {
            for url in urls { invalidations.addChange(of: url) }
        }
        guard let key else { return }
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
