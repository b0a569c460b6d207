import Foundation
import HTTPTypes

/// Storing 206 responses to the caller's own range (RFC 9111 sections 3.3 and 3.4).
extension Pipeline {
    /// Stores a 206, combined with the stored part of the same representation. If no byte is missing, the response is
    /// stored as a 200.
    func storePart(_ received: ReceivedResponse, admitted: ExchangeRequest) async {
        guard admitted.plan.context.resolved.conditions.value?.hasRange == true,
            received.body.count <= ResumeStore.partLimit,
            let new = store.part(of: received, to: admitted)
        else { return }
        await changePart(under: new.target.identity, admitted: admitted) { [self] in
            guard !store.isUpdated(by: new, received: received, admitted: admitted) else { return .keep }
            if let index = new.target.newIndex { cache?.store(index) }
            let old = resumeStore.part(of: new.target.identity, now: received.receivedAt)
            return StoredPart.adding(new.part, to: old, limit: ResumeStore.partLimit)
        }
    }

    /// Updates a stored part by the 304 that has confirmed it.
    ///
    /// - Parameter candidate: the range of the part that was validated.
    func confirmPart(_ candidate: StoredCandidate, by received: ReceivedResponse, admitted: ExchangeRequest) async {
        guard !received.isPersonal else { return }
        let identity = candidate.identity
        await changePart(under: identity, admitted: admitted) { [self] in
            guard let part = resumeStore.part(of: identity, now: received.receivedAt),
                part.stored.body.count == part.range.count, part.stored.isConfirmed(by: received.headers),
                let stored = store.confirmed(part.stored, by: received, admitted: admitted),
                let confirmed = StoredPart(stored, count: part.range.count, now: received.receivedAt)
            else { return .keep }
            return .store(confirmed)
        }
    }

    /// Changes a stored part, unless another exchange writes it.
    private func changePart(
        under identity: ResolvedRequest.Identity,
        admitted: ExchangeRequest,
        to addition: () -> StoredPart.Addition
    ) async {
        let lock = ResumeLock(of: .entry(identity.requestKey ?? identity.key), in: resumeStore)
        guard lock.acquire() else { return }
        defer { lock.release() }
        let context = admitted.plan.context
        switch addition() {
        case .keep: break
        case .store(let part):
            let entry = store.marked(context.entry(part.stored, under: identity), admitted: admitted)
            await resumeStore.write(part: entry)
            // An invalidation may have come between the mark and the write.
            let isUnchanged = store.marked(entry, admitted: admitted).stored.flags == entry.stored.flags
            let isErased = invalidations.hasErased(context, since: admitted.sentAt)
            if !isUnchanged || isErased { cache?.dropPart(of: identity.key) }
        case .complete(let stored):
            let entry = context.entry(stored, under: identity)
            store.store(store.marked(entry, admitted: admitted), admitted: admitted)
            cache?.dropPart(of: identity.key)
        }
    }
}
