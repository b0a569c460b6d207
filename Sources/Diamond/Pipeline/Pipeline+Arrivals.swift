import Foundation
import HTTPTypes

/// What becomes of an answer: who has a say, and whether it goes into the cache.
extension Pipeline {
    /// - Parameters:
    ///   - asked: how many ``revocations`` there were when it was asked for.
    ///   - keeper: what has written the body as it came, where somebody has.
    /// - Throws: what an interceptor has against it, for all who have asked; then it is not stored. Nor is it where the one
    ///   who has asked first can do nothing with it, which the others may.
    func keep(
        _ arrival: Arrival,
        _ question: Question,
        since asked: Int,
        _ keeper: PartialKeeper?
    ) async throws(ConnectionError) -> Response {
        // Most are looked at by no code of the app, and came in one piece: they wait for nobody.
        guard wire.interceptors.isEmpty, question.passage.asker.acceptance == nil, keeper?.hasBegun != true else {
            return try await keepAside(arrival, question, since: asked, keeper)
        }
        return keepAtOnce(arrival, question, since: asked, keeper)
    }

    // Not inlined: what it has on its stack would lie in the frames of all who wait.
    @inline(never)
    private func keepAtOnce(
        _ arrival: Arrival,
        _ question: Question,
        since asked: Int,
        _ keeper: PartialKeeper?
    ) -> Response {
        invalidateOwn(after: arrival, question.passage)
        if isForCache(arrival, question), let entry = entry(of: arrival, question, since: asked) {
            keeper?.end()
            store(entry, question, since: asked)
        }
        return response(from: arrival, question.passage)
    }

    // Nor this: few need it.
    @inline(never)
    private func keepAside(
        _ arrival: Arrival,
        _ question: Question,
        since asked: Int,
        _ keeper: PartialKeeper?
    ) async throws(ConnectionError) -> Response {
        let (passage, response) = (question.passage, response(from: arrival, question.passage))
        invalidateOwn(after: arrival, passage)
        // A redirect that is followed is not the answer.
        if !wire.interceptors.isEmpty, !isFollowed(response, passage) { try await validate(response, passage, keeper) }
        guard isForCache(arrival, question) else { return response }
        guard await isOfUse(response, passage), let entry = entry(of: arrival, question, since: asked) else {
            await keeper?.discard()
            return response
        }
        let isWritten = await keeper?.finish(as: entry.stored) ?? false
        store(entry, question, since: asked, isWritten: isWritten)
        return response
    }

    /// What an unsafe request has changed is stale.
    private func invalidateOwn(after arrival: Arrival, _ passage: Passage) {
        if passage.identity == nil, !passage.wire.method.isSafe { invalidate(after: arrival, passage) }
    }

    private func isForCache(_ arrival: Arrival, _ question: Question) -> Bool {
        cache != nil && question.passage.identity != nil && !isWorse(arrival, than: question.stored?.response)
    }

    private func validate(
        _ response: Response,
        _ passage: Passage,
        _ keeper: PartialKeeper?
    ) async throws(ConnectionError) {
        do throws(ConnectionError) {
            try await asideInFlight(passage.asker) { () async throws(ConnectionError) in
                try await wire.interceptors.validate(response)
            }
        } catch {
            await keeper?.discard()
            throw error
        }
    }

    /// Lets code of the app look at an answer for which others may wait.
    private func asideInFlight<Value>(
        _ asker: Asker,
        _ body: () async throws(ConnectionError) -> Value
    ) async throws(ConnectionError) -> Value {
        try await aside(asker) { () async throws(ConnectionError) in
            try await Hook.run(isInFlight: true, body)
        }
    }

    func isFollowed(_ response: Response, _ passage: Passage) -> Bool {
        Redirect.isFollowed(response, from: passage.wire, redirectLimit) && passage.canFollow(response)
    }

    /// What the one who asks has against a response; looked at once for all questions to it. What goes into a sink is looked
    /// at there. Whoever has left a flight that others are aboard of still says what is stored of it, but makes nothing of it.
    func refusal(of response: Response, _ passage: Passage) async -> ConnectionError? {
        var asker = passage.asker
        guard asker.acceptance != nil, asker.sink == nil, !isFollowed(response, passage) else { return nil }
        if asker.claim?.isDropped == true { asker = asker.behindAnswer }
        do throws(ConnectionError) { _ = try await taken(response, by: asker) } catch { return error }
        return nil
    }

    /// Whether it may be stored. That a status is an error for a typed call says nothing against keeping it: the rules of
    /// HTTP do.
    private func isOfUse(_ response: Response, _ passage: Passage) async -> Bool {
        guard passage.asker.acceptance != nil else { return true }
        let refusal =
            wire.interceptors.isEmpty
            ? await self.refusal(of: response, passage)
            : await Hook.run(isInFlight: true) { await self.refusal(of: response, passage) }
        return refusal == nil || refusal?.code == .badStatus
    }

    /// An error of the server never takes the place of a good answer, which may be asked for while the server fails (RFC
    /// 9111 section 4.3.3).
    private func isWorse(_ arrival: Arrival, than stored: StoredResponse?) -> Bool {
        guard let stored else { return false }
        return arrival.status.code >= 500 && stored.status < 500
    }

    func response(from arrival: Arrival, _ passage: Passage) -> Response {
        var response = Response(
            status: arrival.status, headers: arrival.headers, body: arrival.body, url: passage.url)
        response.attempts = arrival.attempts
        return response
    }
}
