import HTTPTypes

/// Decisions on 206 responses.
extension ResponseStore {
    /// A 206, and the place where it is stored.
    struct Part {
        let part: StoredPart
        let target: Target
    }

    /// Returns the part that a 206 is stored as; `nil` if it may not be stored. The rules are those of the whole
    /// response.
    func part(of received: ReceivedResponse, to admitted: ExchangeRequest) -> Part? {
        let context = admitted.plan.context
        guard cache != nil, received.status == .partialContent, context.wire.method == .get else { return nil }
        var whole = received
        whole.status = .ok
        let decision = decision(on: whole, to: context)
        guard var stored = decision.stored,
            let target = target(of: decision, for: context, at: received.receivedAt),
            isCurrent(whole, decision: decision, target: target.identity, admitted: admitted)
        else { return nil }
        stored.status = received.status.code
        return StoredPart(stored, count: received.body.count, now: received.receivedAt).map {
            Part(part: $0, target: target)
        }
    }

    /// Whether the whole response is stored that a part belongs to: it is updated by the fields of the part. A stored
    /// 200 with another validator is outdated, and erased.
    func isUpdated(by new: Part, received: ReceivedResponse, admitted: ExchangeRequest) -> Bool {
        let part = new.part
        let identity = new.target.identity
        guard let whole = cache?.find(identity, for: kind), !whole.flags.contains(.variants) else { return false }
        guard whole.status == 200, whole.bodySize == part.length, part.validator.isRepeated(by: whole.headers) else {
            cache?.forget(identity.key)
            return false
        }
        let confirmed = confirm(StoredCandidate(whole, of: identity), by: received, admitted: admitted)
        return !confirmed.isToBeErased
    }

    /// Returns the stored part after a 304; `nil` if it may not stay stored.
    func confirmed(
        _ stored: StoredResponse,
        by received: ReceivedResponse,
        admitted: ExchangeRequest
    ) -> StoredResponse? {
        StoreDecision(
            confirming: stored, by: received.headers, sentAt: received.sentAt, receivedAt: received.receivedAt,
            rules: rules(for: admitted.plan.context, adapted: received.adaptedHeaders)
        ).stored
    }
}
