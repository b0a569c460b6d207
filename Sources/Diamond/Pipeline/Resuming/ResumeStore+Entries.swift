import Foundation
import HTTPTypes

/// The partial entries of the cache's store.
extension ResumeStore {
    /// A partial entry, and its response.
    struct Entry: Sendable {
        let body: PartialBody
        let response: PartialResponse
    }

    var hasCache: Bool { cache != nil }

    /// Whether there may be partial entries.
    var mayHaveEntries: Bool { cache?.mayHavePartialBodies == true }

    /// Returns the partial entry of a request.
    ///
    /// - Parameters:
    ///   - request: the canonical form of the request.
    ///   - limit: the most bytes that the caller accepts.
    func entry(of key: RequestKey, request: [UInt8], limit: Int) -> Entry? {
        guard let cache else { return nil }
        do throws(CacheError) {
            guard let body = try cache.partialBody(key, request: request), body.stored.isOf(kind), body.size <= limit
            else { return nil }
            return try response(of: body, in: cache).map { Entry(body: body, response: $0) }
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
    func writer(for entry: CacheEntry, continuing body: PartialBody?, replacing isReplacing: Bool) -> BodyWriter? {
        do throws(CacheError) {
            return try cache?.bodyWriter(for: entry, continuing: body, replacing: isReplacing)
        } catch {
            report(error)
            return nil
        }
    }

    /// Reports a failure of the store, except those that are expected: another exchange has erased or replaced the entry,
    /// or the body exceeds the store's bound.
    func report(_ error: CacheError) {
        guard error.code != .entryGone, error.code != .bodyTooLarge else { return }
        activity.report(.cacheFailed(reason: error.message))
    }
}
