import HTTPTypes

/// Updating and erasing stored responses by a 304 (RFC 9111 section 4.3.4), and by a response to HEAD (section 4.3.5).
extension ResponseStore {
    /// The stored response after a 304.
    struct Confirmed {
        var stored: StoredResponse
        /// Whether the response may not stay stored, and has to be erased after it was served.
        var isToBeErased: Bool
        /// Whether the response is for this request alone, and may not be stored for it.
        var isForOne: Bool

        init(stored: StoredResponse, isToBeErased: Bool) {
            self.stored = stored
            self.isToBeErased = isToBeErased
            isForOne = isToBeErased
        }
    }

    /// Updates a stored response by a 304 (RFC 9111 section 4.3.4).
    func confirm(_ candidate: StoredCandidate, by received: ReceivedResponse, admitted: Exchange) -> Confirmed {
        let context = admitted.context
        let stored = candidate.response
        let decision = StoreDecision(
            confirming: stored,
            by: received.headers,
            sentAt: received.sentAt,
            receivedAt: received.receivedAt,
            rules: rules(for: context, adapted: received.adaptedHeaders)
        )
        // The confirmation of a personal request is not for other callers.
        guard !received.isPersonal else { return Confirmed(stored: decision.stored ?? stored, isToBeErased: false) }
        guard !invalidations.hasErased(context, since: admitted.position) else {
            erase(candidate)
            return Confirmed(stored: stored, isToBeErased: false)
        }
        guard let confirmed = decision.stored else { return Confirmed(stored: stored, isToBeErased: true) }
        // If the 304 has changed Vary, the response would be found for other requests. It is erased, and the next whole
        // response is stored.
        guard
            decision.fields
                == StoreDecision.fields(of: stored, rules: rules(for: context, adapted: received.adaptedHeaders))
        else { return Confirmed(stored: confirmed, isToBeErased: true) }
        let entry = marked(context.entry(confirmed, under: candidate.identity), admitted: admitted)
        // A part is updated elsewhere.
        if !candidate.isPart, !isOvertaken(stored, target: candidate.identity, admitted: admitted) {
            cache?.confirm(entry, replacing: stored)
            fleet?.note(entry.stored, to: admitted.plan)
            checkAgain(entry, admitted: admitted)
        }
        return Confirmed(stored: confirmed, isToBeErased: false)
    }

    /// Updates the stored response by a 304 that answers the caller's own conditions, and names the stored response.
    func update(by received: ReceivedResponse, admitted: Exchange) {
        guard let stored = admitted.plan.stored else { return }
        if confirm(stored, by: received, admitted: admitted).isToBeErased { erase(stored) }
    }

    /// Erases a stored response.
    func erase(_ candidate: StoredCandidate) { cache?.forget(candidate.identity.key) }

    /// Updates or invalidates the stored response to GET by a response to HEAD (RFC 9111 section 4.3.5).
    func freshen(by received: ReceivedResponse, admitted: Exchange) {
        let context = admitted.context
        guard context.wire.method == .head, let identity = context.identity,
            let stored = admitted.plan.stored ?? peek(identity).map({ StoredCandidate($0, of: identity) }),
            isCurrent(
                received, decision: decision(on: received, to: context), target: stored.identity, admitted: admitted)
        else { return }
        switch HeadDecision(stored.response, status: received.status.code, headers: received.headers) {
        case .update: if confirm(stored, by: received, admitted: admitted).isToBeErased { erase(stored) }
        case .invalidate:
            let entry = context.entry(stored.invalidated.response, under: stored.identity)
            cache?.confirm(entry, replacing: stored.response)
        case .ignore: break
        }
    }
}
