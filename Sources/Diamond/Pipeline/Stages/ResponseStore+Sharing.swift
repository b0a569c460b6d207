import HTTPTypes

/// The responses that several callers may have.
extension ResponseStore {
    /// Whether all callers of an exchange may have its response. In the private cache of an app they are one user.
    /// Another cache may give a response to others only if it may store it, and the response is fresh (RFC 9111 section
    /// 4). In a shared cache, a response that sets a cookie is for one user.
    func isForAll(_ received: ReceivedResponse, to context: RequestContext) -> Bool {
        guard kind == .shared || isGateway else { return true }
        return isForAll(received, by: decision(on: received, to: context))
    }

    /// Whether all clients of a gateway may have a response.
    ///
    /// - Parameter decision: the decision on the response.
    func isForAll(_ received: ReceivedResponse, by decision: StoreDecision) -> Bool {
        guard decision.stored?.isFresh(at: received.receivedAt, maxAge: nil) == true else { return false }
        return kind == .private || !received.headers.contains(.setCookie)
    }

    /// Returns the response to one client of a gateway as it would be stored for another client; `nil` if it would not
    /// be served to that client.
    func stored(
        _ received: ReceivedResponse, to first: RequestContext, for other: RequestContext
    ) -> StoredResponse? {
        let decision = decision(on: received, to: other)
        guard isForAll(received, by: decision), other.wire.headers.accepts(codingOf: received.headers) else {
            return nil
        }
        let isSelected = decision.fields.map { selection(of: first, by: $0) == selection(of: other, by: $0) }
        return isSelected ?? true ? decision.stored : nil
    }

    private func selection(of context: RequestContext, by fields: VariantFields) -> VariantSelection? {
        context.identity.map { Variants(of: $0, context.wire, rules: environment.rules).selection(by: fields) }
    }

    /// Whether all callers of an exchange may have the response that it has confirmed.
    func isForAll(_ confirmed: Confirmed, at now: WallTime) -> Bool {
        kind == .private && !isGateway
            || !confirmed.isForOne && confirmed.stored.isFresh(at: now, maxAge: nil)
    }
}
