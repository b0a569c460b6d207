import Foundation
import HTTPTypes

/// The partial entries of the cache's store.
extension ResumeStore {
    /// A partial entry, and its response.
    struct Entry: Sendable {
        let part: Part
        let response: PartialResponse
    }

    /// A partial entry.
    struct Part: Sendable {
        /// The identity that it is stored under: that of its request, or of a variant.
        let identity: ResolvedRequest.Identity
        let body: PartialBody
    }

    var hasCache: Bool { cache != nil }

    /// Whether there may be partial entries.
    var mayHaveEntries: Bool { cache?.mayHavePartialBodies == true }

    /// Returns the partial entry under an identity.
    ///
    /// - Parameter limit: the most bytes that the caller accepts.
    func entry(under identity: ResolvedRequest.Identity, limit: Int) -> Entry? {
        guard let cache else { return nil }
        do throws(CacheError) {
            guard let body = try cache.partialBody(identity.key, request: identity.canonicalForm),
                body.stored.isOf(kind), body.size <= limit
            else { return nil }
            return try response(of: body, in: cache).map {
                Entry(part: Part(identity: identity, body: body), response: $0)
            }
        } catch {
            report(error)
            return nil
        }
    }

    private func response(of body: PartialBody, in cache: Cache) throws(CacheError) -> PartialResponse? {
        let stored = body.stored
        var received = ReceivedResponse(
            status: HTTPResponse.Status(code: stored.status), headers: stored.headers, body: Data(),
            sentAt: stored.storedAt, receivedAt: stored.storedAt)
        // Checked before the body is read, which may be large.
        guard PartialResponse(received) != nil else { return nil }
        received.body = try cache.reader(of: body).rest()
        return PartialResponse(received)
    }

    /// Returns a writer for a body in pieces; `nil` if the store cannot write it.
    ///
    /// - Parameters:
    ///   - body: the part that is in the store already.
    ///   - isReplacing: whether the entry replaces a stored response.
    ///   - isResumable: whether a later process may continue the body that is being received.
    func writer(
        for entry: CacheEntry, continuing body: PartialBody?, replacing isReplacing: Bool, isResumable: Bool = false
    ) -> BodyWriter? {
        do throws(CacheError) {
            return try cache?.bodyWriter(
                for: entry, continuing: body, replacing: isReplacing, isResumable: isResumable)
        } catch {
            report(error)
            return nil
        }
    }

    /// Reports a failure of the store, except those that are expected: another exchange has erased or replaced the
    /// entry, or the body exceeds the store's bound.
    func report(_ error: CacheError) {
        guard error.code != .entryGone, error.code != .bodyTooLarge else { return }
        activity.report(.cacheFailed(reason: error.message))
    }
}
