import Foundation
import HTTPTypes

/// What becomes of an answer: stored or confirmed.
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

    func decision(on arrival: Arrival, _ passage: Passage) -> StoreDecision {
        StoreDecision(
            method: passage.wire.method,
            status: arrival.status.code,
            headers: arrival.headers,
            body: arrival.body,
            sentAt: arrival.sentAt,
            receivedAt: arrival.receivedAt,
            isSelecting: isSelecting(passage, arrival.adaptedHeaders)
        )
    }

    /// Which headers tell requests apart by their keys: none that an interceptor has changed, and not `Cookie` where a jar adds
    /// it or an identity takes its place. That an identity takes the place of `Authorization` is what it is for, and for
    /// what a key of the app's own leaves out the app answers.
    private func isSelecting(_ passage: Passage, _ adapted: Set<String>) -> (String) -> Bool {
        let (request, rules) = (passage.wire, environment.rules.adding(passage.wire))
        let hasCookieKey = request.identity == nil && (wire.cookies == nil || request.headers[.cookie] != nil)
        return { name in
            rules.isSelecting(name) && !adapted.contains(name) && (name != "cookie" || hasCookieKey)
        }
    }

    /// What an answer is stored as; `nil` where it may not be.
    private func entry(of arrival: Arrival, _ question: Question, since asked: Int) -> CacheEntry? {
        let (passage, decision) = (question.passage, decision(on: arrival, question.passage))
        guard !arrival.isPersonal, !isErased(passage, since: asked),
            !isOvertaken(passage, question.stored?.response, since: asked), !isOlder(decision, question)
        else { return nil }
        guard let new = decision.stored.flatMap({ passage.entry($0) }) else {
            dropPredecessor(of: arrival, question)
            return nil
        }
        return marked(new, passage, since: asked)
    }

    private func store(_ entry: CacheEntry, _ question: Question, since asked: Int, isWritten: Bool = false) {
        if !isWritten { cache?.store(entry, replacing: question.stored != nil) }
        checkAgain(entry, question.passage, since: asked)
    }

    /// What an answer has taken the place of goes with it where that may not be stored: it would be served as if nothing newer
    /// were known. Other than a 2xx says nothing of what is there now, nor does one that is none to keep by itself, such as
    /// 202, and a HEAD may be answered in a way of its own.
    private func dropPredecessor(of arrival: Arrival, _ question: Question) {
        guard let identity = question.passage.identity, question.passage.wire.method != .head,
            (200..<300).contains(arrival.status.code), StoreDecision.cacheable.contains(arrival.status.code)
        else { return }
        // Where nothing is known to be there, nothing is written.
        guard question.stored != nil || peek(identity) != nil else { return }
        cache?.forget(identity.key)
    }

    private func peek(_ identity: Passage.Identity) -> StoredResponse? {
        cache?.peek(identity.key, request: identity.canonicalForm)
    }

    /// Whether what has come meanwhile is newer (RFC 9111 section 4): of several answers the most recent counts. Nothing is read
    /// for it: what has left memory, and what another process has stored, is taken for older.
    private func isOlder(_ decision: StoreDecision, _ question: Question) -> Bool {
        guard let latest = question.passage.identity.flatMap({ peek($0) }), latest.originTime > decision.originTime
        else { return false }
        return question.stored.map { !latest.isUnchanged(since: $0.response) } ?? true
    }

    /// Whether what is stored was asked for after the change that has made this one stale.
    ///
    /// - Parameter old: what was stored when this one was asked for. It may have stayed as it is: of many changes nobody knows
    ///   any more what each has meant.
    private func isOvertaken(_ passage: Passage, _ old: StoredResponse?, since asked: Int) -> Bool {
        guard isRevoked(passage, since: asked), let found = passage.identity.flatMap({ cache?.find($0) }),
            !found.flags.contains(.invalidated)
        else { return false }
        return old.map { !found.isUnchanged(since: $0) } ?? true
    }

    /// As stale where it was invalidated while it was on its way.
    private func marked(_ entry: CacheEntry, _ passage: Passage, since asked: Int) -> CacheEntry {
        var entry = entry
        if isRevoked(passage, since: asked) { entry.stored.flags.insert(.invalidated) }
        return entry
    }

    /// What came between the look and the store: it would outlive the logout, or the change.
    private func checkAgain(_ entry: CacheEntry, _ passage: Passage, since asked: Int) {
        guard !isErased(passage, since: asked) else {
            cache?.forget(entry.key)
            return
        }
        let marked = marked(entry, passage, since: asked)
        guard marked.stored.flags != entry.stored.flags else { return }
        if marked.stored.isWhole {
            cache?.store(marked, replacing: true)
        } else {
            cache?.confirm(marked, replacing: entry.stored)
        }
    }

    /// - Returns: what is served: as it is confirmed, where it may be; and whether it may be stored no longer, and has to go
    ///   when it has been read.
    func confirm(
        _ stored: StoredResponse,
        by arrival: Arrival,
        _ passage: Passage,
        since asked: Int
    ) -> (stored: StoredResponse, hasToGo: Bool) {
        let decision = StoreDecision(
            confirming: stored,
            by: arrival.headers,
            sentAt: arrival.sentAt,
            receivedAt: arrival.receivedAt,
            isSelecting: isSelecting(passage, arrival.adaptedHeaders)
        )
        // What is said to a credential that an interceptor has added is said to nobody else.
        guard !arrival.isPersonal else { return (decision.stored ?? stored, false) }
        guard !isErased(passage, since: asked) else {
            if let key = passage.identity?.key { cache?.forget(key) }
            return (stored, false)
        }
        guard let confirmed = decision.stored, let new = passage.entry(confirmed) else { return (stored, true) }
        let entry = marked(new, passage, since: asked)
        if !isOvertaken(passage, stored, since: asked) {
            cache?.confirm(entry, replacing: stored)
            checkAgain(entry, passage, since: asked)
        }
        return (confirmed, false)
    }

    func response(from arrival: Arrival, _ passage: Passage) -> Response {
        var response = Response(
            status: arrival.status, headers: arrival.headers, body: arrival.body, url: passage.url)
        response.attempts = arrival.attempts
        return response
    }
}
