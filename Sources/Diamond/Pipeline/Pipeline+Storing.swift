import Foundation
import HTTPTypes

/// What becomes of an answer: stored, confirmed, or a reason to invalidate.
extension Pipeline {
    func keep(_ arrival: Arrival, _ question: Question) async -> Response {
        if question.passage.identity == nil {
            await invalidate(after: arrival, question.passage)
        } else if !isWorse(arrival, than: question.stored) {
            store(arrival, question.passage, replacing: question.stored != nil)
        }
        return response(from: arrival, question.passage)
    }

    /// An error of the server never takes the place of a good answer, which may be asked for while the server fails (RFC
    /// 9111 section 4.3.3).
    private func isWorse(_ arrival: Arrival, than stored: StoredResponse?) -> Bool {
        guard let stored else { return false }
        return arrival.status.code >= 500 && stored.status < 500
    }

    private func store(_ arrival: Arrival, _ passage: Passage, replacing isReplacing: Bool) {
        let decision = StoreDecision(
            method: passage.wire.method,
            status: arrival.status.code,
            headers: arrival.headers,
            body: arrival.body,
            sentAt: arrival.sentAt,
            receivedAt: arrival.receivedAt,
            isSelecting: environment.rules.adding(passage.wire).isSelecting
        )
        if let stored = decision.stored, let entry = passage.entry(stored), !forgotten.has(passage) {
            cache?.store(entry, replacing: isReplacing)
            // Forgotten between the look and the store, it would outlive the logout.
            if forgotten.has(passage) { cache?.forget(entry.key) }
        }
    }

    func confirm(_ stored: StoredResponse, by arrival: Arrival, _ passage: Passage) -> Response {
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
        cache?.confirm(entry, replacing: stored)
        return serve(confirmed, from: .revalidated, passage, after: arrival.attempts)
    }

    /// It has, or an attempt before it may have: a DELETE that is repeated is answered with 404.
    private func mayHaveActed(_ arrival: Arrival) -> Bool {
        (200..<400).contains(arrival.status.code) || arrival.attempts.count > 1
    }

    /// What an unsafe method has changed is stale (RFC 9111 section 4.4): its own URL, and those of the same origin that
    /// the answer names.
    private func invalidate(after arrival: Arrival, _ passage: Passage) async {
        guard let cache, !passage.wire.method.isSafe, mayHaveActed(arrival) else { return }
        let named = [HTTPField.Name.location, .contentLocation].compactMap { arrival.headers[$0] }
        let urls = named.compactMap { Redirect.target(of: $0, from: passage.wire) }
            .filter { $0.origin == passage.wire.url.origin }
            .map { $0.text() }
        for url in Set([passage.wire.printableURL(environment.rules)] + urls) {
            do { try await cache.invalidate(.url(url)) } catch {
                activity.report(.cacheFailed(reason: error.message))
            }
        }
    }

    private func response(from arrival: Arrival, _ passage: Passage) -> Response {
        var response = Response(
            status: arrival.status, headers: arrival.headers, body: arrival.body, url: passage.url)
        response.attempts = arrival.attempts
        return response
    }
}
