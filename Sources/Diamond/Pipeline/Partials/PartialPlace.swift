import Foundation
import HTTPTypes

/// Where a keeper finds and puts what belongs to one request: the store's partial entry, and the connection's box.
struct PartialPlace: Sendable {
    /// What was left for a request.
    struct Found: Sendable {
        /// In the store.
        let stored: (partial: PartialBody, incomplete: IncompleteArrival)?
        /// By the connection itself.
        let kept: IncompleteArrival?
    }

    private let passage: Passage
    private let pipeline: Pipeline
    /// Whether an entry that was there is no longer right.
    private let isReplacing: Bool
    private let owner: PartialHolders.Owner
    /// `nil` where the answer is not kept for others, or is asked for anew on purpose: then it is gone on with only by the
    /// connection that has begun it.
    private let cache: Cache?
    private let age: PartialAge

    /// `nil` where nobody could find what is kept.
    init?(_ question: Question, _ pipeline: Pipeline) {
        let passage = question.passage
        guard passage.isContinuable else { return nil }
        // A sink has what was received itself: how much that is, the connection keeps.
        let cache = passage.asker.sink == nil ? pipeline.cache : nil
        if let cache, let identity = passage.identity, passage.policy.mode != .reload {
            (self.cache, owner) = (cache, .request(identity.key))
        } else if let claim = passage.asker.claim {
            (self.cache, owner) = (nil, .claimant(claim.owner))
        } else {
            return nil
        }
        (self.passage, self.pipeline) = (passage, pipeline)
        isReplacing = question.stored != nil
        age = PartialAge(forgotten: passage.epoch, revoked: pipeline.revocations)
    }

    func hold() -> PartialHold { PartialHold(of: owner, among: pipeline.holders) }

    /// Whether there may be something, which is then worth a look.
    var mayHaveKept: Bool { cache?.mayHavePartialBodies == true || passage.asker.claim?.hasKept == true }

    /// Whether nobody has forgotten the identity since the passage began, nor erased what is asked for.
    var isWanted: Bool { isWanted(at: age) }

    private func isWanted(at age: PartialAge) -> Bool {
        !pipeline.forgotten.has(passage.wire.identity, since: age.forgotten)
            && !pipeline.isErased(passage, since: age.revoked)
    }

    func report(_ error: CacheError) {
        // Erased or begun anew by another, as may be; too large for the store, which is its bound's word.
        guard error.code != .entryGone, error.code != .bodyTooLarge else { return }
        pipeline.activity.report(.cacheFailed(reason: error.message))
    }

    func found(for request: TransportRequest) -> Boxed<Found> {
        let found = Found(stored: partial(), kept: takeKept(for: request))
        return found.stored == nil && found.kept == nil ? .none : .some(found)
    }

    // MARK: The box

    private func takeKept(for request: TransportRequest) -> IncompleteArrival? {
        passage.asker.claim?.takeKept(for: request, where: isWanted)
    }

    func keep(_ incomplete: IncompleteArrival, for request: TransportRequest) {
        passage.asker.claim?.keep(incomplete, for: request, at: age)
    }

    // MARK: The store

    /// What to store a response as, once it is whole; `nil` where it may not be stored.
    func entry(for arrival: Arrival) -> CacheEntry? {
        guard cache != nil, isWanted, !arrival.isPersonal else { return nil }
        return pipeline.decision(on: arrival, passage).stored.flatMap { passage.entry($0) }
    }

    func partial() -> (partial: PartialBody, incomplete: IncompleteArrival)? {
        guard let cache, let identity = passage.identity else { return nil }
        do throws(CacheError) {
            guard let partial = try cache.partialBody(identity.key, request: identity.canonicalForm),
                partial.size <= pipeline.bodyLimit(of: passage), let arrival = try arrival(of: partial, cache)
            else { return nil }
            return IncompleteArrival(arrival).map { (partial, $0) }
        } catch {
            report(error)
            return nil
        }
    }

    private func arrival(of partial: PartialBody, _ cache: Cache) throws(CacheError) -> Arrival? {
        let stored = partial.stored
        var arrival = Arrival(
            status: HTTPResponse.Status(code: stored.status), headers: stored.headers, body: Data(),
            sentAt: stored.storedAt, receivedAt: stored.storedAt)
        // Before its body is read: it may be large.
        guard IncompleteArrival(arrival) != nil else { return nil }
        arrival.body.reserveCapacity(partial.size)
        var reader = cache.reader(of: partial)
        while let chunk = try reader.next() { arrival.body.append(chunk) }
        return arrival
    }

    func writer(for entry: CacheEntry, continuing partial: PartialBody? = nil) -> BodyWriter? {
        do throws(CacheError) {
            return try cache?.bodyWriter(for: entry, continuing: partial, replacing: isReplacing)
        } catch {
            report(error)
            return nil
        }
    }

    func erase(_ partial: PartialBody) async {
        guard let entry = passage.entry(partial.stored) else { return }
        try? await writer(for: entry, continuing: partial)?.abandon(keepingPartial: false)
    }
}
