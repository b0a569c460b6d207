import Foundation
import HTTPTypes

/// What an exchange makes stale, and what was made stale while it was on its way.
extension Pipeline {
    /// The instant now, for ``isRevoked(_:since:)``.
    var revocations: Int { revoked.count }

    /// Whether what a passage asks for was invalidated or erased since then.
    func isRevoked(_ passage: Passage, since instant: Int) -> Bool {
        guard revocations != instant, let subject = passage.subject else { return false }
        return revoked.include(subject, since: instant)
    }

    /// Whether what a passage asks for was erased since then: what was asked for before that is not stored any more.
    func isErased(_ passage: Passage, since instant: Int) -> Bool {
        guard revocations != instant || forgotten.count != passage.epoch, let subject = passage.subject else {
            return false
        }
        return forgotten.has(passage) || revoked.include(subject, since: instant, onlyErasures: true)
    }

    /// What is under way on an identity's behalf is neither stored nor joined any more.
    func forget(_ identity: String) {
        forgotten.add(identity)
        // With a cache, erasing does as much.
        if cache == nil { revoked.add(.identity(identity), isErasure: true) }
    }

    /// It has, or an attempt before it may have: a DELETE that is repeated is answered with 404.
    private func mayHaveActed(_ arrival: Arrival) -> Bool {
        (200..<400).contains(arrival.status.code) || arrival.attempts.count > 1
    }

    /// What an unsafe method has changed is stale (RFC 9111 section 4.4): its own URL, and those of the same origin that
    /// the answer names.
    func invalidate(after arrival: Arrival, _ passage: Passage) {
        guard !passage.wire.method.isSafe, mayHaveActed(arrival) else { return }
        let urls = [HTTPField.Name.location, .contentLocation]
            .compactMap { Redirect.target($0, of: arrival.headers, from: passage.wire)?.url }
            .filter { $0.origin == passage.wire.url.origin }
            .map { passage.wire.entryURL(of: $0, environment.rules) }
        invalidate(urls, passage)
    }

    /// A request whose answer was lost may have acted: what it may have changed is asked for again. Of a hop behind a redirect
    /// that is so where that hop was sent; what one before may have changed, its redirect has made stale.
    func invalidate(after error: ConnectionError, _ passage: Passage) {
        // The cause is the last attempt's; of a single one nothing else tells.
        let isCause = (error.cause as? TransportError)?.requestMayHaveBeenSent == true
        let mayHaveActed = isCause || error.attempts.contains(where: \.mayHaveArrived)
        if !passage.wire.method.isSafe, mayHaveActed { invalidate([], passage) }
    }

    /// Waits for no disk: whoever has asked may have its place on the wire still.
    ///
    /// - Parameter urls: beside the passage's own.
    private func invalidate(_ urls: [String], _ passage: Passage) {
        let urls = Set([passage.wire.entryURL(environment.rules)] + urls)
        // Without a cache, what is under way brings the state before.
        if let cache {
            cache.markStale(urls: urls)
        } else {
            for url in urls { revoked.addChange(of: url) }
        }
        guard let key = ownKey(passage.wire) else { return }
        if let cache { cache.outdate(key) } else { revoked.add(.key(key), isErasure: false) }
    }

    /// Of what a GET would find, where the request has a key of the app's own.
    private func ownKey(_ wire: WireRequest) -> RequestKey? {
        guard wire.cacheKey != nil else { return nil }
        var get = wire
        (get.method, get.body) = (.get, nil)
        return try? CanonicalForm(of: get, rules: environment.rules).key
    }
}
