import Foundation
import HTTPTypes

/// What becomes of an answer: stored or confirmed.
extension Pipeline {
    /// - Parameter asked: how many ``revocations`` there were when it was asked for.
    /// - Throws: what an interceptor, or the one who asks, has against it; then it is not stored.
    func keep(_ arrival: Arrival, _ question: Question, since asked: Int) async throws(ConnectionError) -> Response {
        let (passage, response) = (question.passage, response(from: arrival, question.passage))
        if passage.identity == nil { await invalidate(after: arrival, passage) }
        try await validate(response, passage)
        if passage.identity != nil, !isWorse(arrival, than: question.stored) {
            store(arrival, passage, since: asked, replacing: question.stored != nil)
        }
        return response
    }

    /// A redirect that is followed is not the answer.
    private func validate(_ response: Response, _ passage: Passage) async throws(ConnectionError) {
        let validation = passage.asker.validation
        guard !wire.interceptors.isEmpty || validation != nil,
            !Redirect.isFollowed(response, from: passage.wire, redirectLimit)
        else { return }
        try await wire.interceptors.validate(response)
        if let refusal = validation?.refusal(of: response) { throw refusal }
    }

    /// An error of the server never takes the place of a good answer, which may be asked for while the server fails (RFC
    /// 9111 section 4.3.3).
    private func isWorse(_ arrival: Arrival, than stored: StoredResponse?) -> Bool {
        guard let stored else { return false }
        return arrival.status.code >= 500 && stored.status < 500
    }

    private func store(_ arrival: Arrival, _ passage: Passage, since asked: Int, replacing isReplacing: Bool) {
        let decision = StoreDecision(
            method: passage.wire.method,
            status: arrival.status.code,
            headers: arrival.headers,
            body: arrival.body,
            sentAt: arrival.sentAt,
            receivedAt: arrival.receivedAt,
            isSelecting: environment.rules.adding(passage.wire).isSelecting
        )
        guard let stored = decision.stored, let entry = passage.entry(stored), !forgotten.has(passage) else { return }
        put(entry, passage, since: asked) { cache?.store($0, replacing: isReplacing) }
    }

    /// Marked as stale where it was invalidated while it was on its way.
    private func put(_ entry: CacheEntry, _ passage: Passage, since asked: Int, _ put: (CacheEntry) -> Void) {
        var entry = entry
        let isStale = isRevoked(passage, since: asked)
        if isStale { entry.stored.flags.insert(.invalidated) }
        put(entry)
        // Between the look and the store, it would outlive the logout, or the change.
        if forgotten.has(passage) {
            cache?.forget(entry.key)
        } else if !isStale, isRevoked(passage, since: asked) {
            entry.stored.flags.insert(.invalidated)
            cache?.store(entry, replacing: true)
        }
    }

    func confirm(
        _ stored: StoredResponse,
        by arrival: Arrival,
        _ passage: Passage,
        since asked: Int
    ) -> Response {
        let decision = StoreDecision(
            confirming: stored,
            by: arrival.headers,
            sentAt: arrival.sentAt,
            receivedAt: arrival.receivedAt
        )
        guard let confirmed = decision.stored, let entry = passage.entry(confirmed), !forgotten.has(passage) else {
            if let key = passage.identity?.key { cache?.forget(key) }
            return serve(stored, from: .revalidated, passage, after: arrival.attempts)
        }
        put(entry, passage, since: asked) { cache?.confirm($0, replacing: stored) }
        return serve(confirmed, from: .revalidated, passage, after: arrival.attempts)
    }

    private func response(from arrival: Arrival, _ passage: Passage) -> Response {
        var response = Response(
            status: arrival.status, headers: arrival.headers, body: arrival.body, url: passage.url)
        response.attempts = arrival.attempts
        return response
    }
}
