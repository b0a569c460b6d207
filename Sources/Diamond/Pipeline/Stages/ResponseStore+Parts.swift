import HTTPTypes

/// Storing 206 responses to the caller's own range (RFC 9111 sections 3.3 and 3.4).
extension ResponseStore {
    /// Stores a 206, combined with the stored part of the same representation. If no byte is missing, the response is
    /// stored as a 200.
    func storePart(_ received: ReceivedResponse, admitted: Exchange) async {
        guard admitted.context.resolved.conditions.value?.hasRange == true,
            received.body.count <= CacheLookup.partLimit,
            let new = part(of: received, to: admitted)
        else { return }
        await changePart(under: new.target.identity, admitted: admitted) {
            guard !isUpdated(by: new, received: received, admitted: admitted) else { return .keep }
            if let index = new.target.newIndex { cache?.store(index) }
            let old = lookup.part(under: new.target.identity, now: received.receivedAt)
            return StoredPart.adding(new.part, to: old, limit: CacheLookup.partLimit)
        }
    }

    /// Updates a stored part by the 304 that has confirmed it.
    ///
    /// - Parameter candidate: the range of the part that was validated.
    func confirmPart(_ candidate: StoredCandidate, by received: ReceivedResponse, admitted: Exchange) async {
        guard !received.isPersonal else { return }
        let identity = candidate.identity
        await changePart(under: identity, admitted: admitted) {
            guard let part = lookup.part(under: identity, now: received.receivedAt),
                part.stored.body.count == part.range.count, part.stored.isConfirmed(by: received.headers),
                let stored = confirmed(part.stored, by: received, admitted: admitted),
                let confirmed = StoredPart(stored, count: part.range.count, now: received.receivedAt)
            else { return .keep }
            return .store(confirmed)
        }
    }

    /// Changes a stored part, unless another exchange writes it.
    private func changePart(
        under identity: ResolvedRequest.Identity,
        admitted: Exchange,
        to addition: () -> StoredPart.Addition
    ) async {
        let lock = ResumeLock(of: .entry(identity.requestKey ?? identity.key), in: locks)
        guard lock.acquire() else { return }
        defer { lock.release() }
        let context = admitted.context
        switch addition() {
        case .keep: break
        case .store(let part):
            let entry = marked(context.entry(part.stored, under: identity), admitted: admitted)
            await write(entry)
            // An invalidation may have come between the mark and the write.
            let isUnchanged = marked(entry, admitted: admitted).stored.flags == entry.stored.flags
            let isErased = invalidations.hasErased(context, since: admitted.position)
            if !isUnchanged || isErased { cache?.dropPart(of: identity.key) }
        case .complete(let stored):
            let entry = context.entry(stored, under: identity)
            add(marked(entry, admitted: admitted), admitted: admitted)
            cache?.dropPart(of: identity.key)
        }
    }

    /// Writes a part, in the place of another.
    private func write(_ part: CacheEntry) async {
        do throws(CacheError) {
            let writer = try cache?.bodyWriter(for: part)
            try await writer?.append(part.stored.body)
            try await writer?.abandon(keepingPartial: true)
        } catch {
            lookup.report(error)
        }
    }

    // MARK: Decisions

    /// A 206, and the place where it is stored.
    private struct Part {
        let part: StoredPart
        let target: Target
    }

    /// Returns the part that a 206 is stored as; `nil` if it may not be stored. The rules are those of the whole
    /// response.
    private func part(of received: ReceivedResponse, to admitted: Exchange) -> Part? {
        let context = admitted.context
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
    private func isUpdated(by new: Part, received: ReceivedResponse, admitted: Exchange) -> Bool {
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
    private func confirmed(
        _ stored: StoredResponse,
        by received: ReceivedResponse,
        admitted: Exchange
    ) -> StoredResponse? {
        StoreDecision(
            confirming: stored, by: received.headers, sentAt: received.sentAt, receivedAt: received.receivedAt,
            rules: rules(for: admitted.context, adapted: received.adaptedHeaders)
        ).stored
    }
}
