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

    private let context: RequestContext
    private let pipeline: Pipeline
    /// Whether an entry that was there is no longer right.
    private let isReplacing: Bool
    private let owner: PartialHolders.Owner
    /// `nil` where the answer is not kept for others, or is asked for anew on purpose: then it is gone on with only by the
    /// connection that has begun it.
    private let cache: Cache?
    private let instant: InvalidationLog.Instant

    /// `nil` where nobody could find what is kept.
    init?(_ plan: ExchangePlan, _ pipeline: Pipeline) {
        let context = plan.context
        guard context.isContinuable else { return nil }
        // A sink has what was received itself: how much that is, the connection keeps.
        let cache = context.caller.sink == nil ? pipeline.cache : nil
        if let cache, let identity = context.identity, context.policy.mode != .reload {
            (self.cache, owner) = (cache, .request(identity.key))
        } else if let run = context.caller.run {
            (self.cache, owner) = (nil, .claimant(run.owner))
        } else {
            return nil
        }
        self.context = context
        self.pipeline = pipeline
        isReplacing = plan.stored != nil
        instant = pipeline.invalidations.now
    }

    func hold() -> PartialHold { PartialHold(of: owner, among: pipeline.holders) }

    /// Whether there may be something, which is then worth a look.
    var mayHaveKept: Bool { cache?.mayHavePartialBodies == true || context.caller.run?.box != nil }

    /// Whether nobody has forgotten the identity since the passage began, nor erased what is asked for.
    var isWanted: Bool { isWanted(at: instant) }

    private func isWanted(at instant: InvalidationLog.Instant) -> Bool {
        !pipeline.invalidations.hasLogout(of: context.wire.identity, since: min(instant, context.resolvedAt))
            && !pipeline.invalidations.hasErased(context, since: instant)
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
        context.caller.run?.box?.take(for: request, where: isWanted)
    }

    func keep(_ incomplete: IncompleteArrival, for request: TransportRequest) {
        context.caller.run?.makeBox().put(incomplete, for: request, at: context.resolvedAt)
    }

    // MARK: The store

    /// What to store a response as, once it is whole; `nil` where it may not be stored.
    func entry(for arrival: Arrival) -> CacheEntry? {
        guard cache != nil, isWanted, !arrival.isPersonal else { return nil }
        return pipeline.store.decision(on: arrival, context).stored.flatMap { context.entry($0) }
    }

    func partial() -> (partial: PartialBody, incomplete: IncompleteArrival)? {
        guard let cache, let identity = context.identity else { return nil }
        do throws(CacheError) {
            guard let partial = try cache.partialBody(identity.key, request: identity.canonicalForm),
                partial.size <= pipeline.bodyLimit(of: context), let arrival = try arrival(of: partial, cache)
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
        guard let entry = context.entry(partial.stored) else { return }
        try? await writer(for: entry, continuing: partial)?.abandon(keepingPartial: false)
    }
}
