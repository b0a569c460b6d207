import Foundation
import HTTPTypes

/// Invalidation by unsafe methods (RFC 9111 section 4.4).
extension ResponseStore {
    /// Invalidates what an unsafe request has changed: its own URL, and the URLs of the same origin that the response names.
    func invalidate(after arrival: ReceivedResponse, _ context: RequestContext) {
        guard !context.wire.method.isSafe, mayHaveActed(arrival) else { return }
        let urls = [HTTPField.Name.location, .contentLocation]
            .compactMap { Redirect.target($0, of: arrival.headers, from: context.wire)?.url }
            .filter { $0.origin == context.wire.url.origin }
            .map { context.wire.entryURL(of: $0, environment.rules) }
        invalidate(urls, context)
    }

    /// Invalidates what a request may have changed whose response was lost. For a hop after a redirect that is so where that
    /// hop was sent; what an earlier hop may have changed, its redirect has invalidated.
    func invalidate(after error: ConnectionError, _ context: RequestContext) {
        // The cause is the last attempt's; of a single one nothing else tells.
        let isCause = (error.cause as? TransportError)?.requestMayHaveBeenSent == true
        let mayHaveActed = isCause || error.attempts.contains(where: \.mayHaveArrived)
        if !context.wire.method.isSafe, mayHaveActed { invalidate([], context) }
    }

    /// Whether the server has acted, or may have on an attempt before: a DELETE that is repeated is answered with 404.
    private func mayHaveActed(_ arrival: ReceivedResponse) -> Bool {
        (200..<400).contains(arrival.status.code) || arrival.attempts.count > 1
    }

    /// Waits for no disk: the exchange may still have its permit.
    ///
    /// - Parameter urls: besides the request's own.
    private func invalidate(_ urls: [String], _ context: RequestContext) {
        let urls = Set([context.wire.entryURL(environment.rules)] + urls)
        // Without a cache, exchanges that are under way bring the state before.
        if let cache {
            cache.markStale(urls: urls)
        } else {
            for url in urls { invalidations.addChange(of: url) }
        }
        guard let key = ownKey(context.wire) else { return }
        if let cache { cache.outdate(key) } else { invalidations.add(.key(key), isErasure: false) }
    }

    /// The key that a GET would have, where the request has a key of the app's own.
    private func ownKey(_ wire: WireRequest) -> RequestKey? {
        guard wire.cacheKey != nil else { return nil }
        var get = wire
        get.method = .get
        get.body = nil
        return try? CanonicalForm(of: get, rules: environment.rules).key
    }
}
