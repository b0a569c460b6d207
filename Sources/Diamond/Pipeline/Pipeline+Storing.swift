import Foundation
import HTTPTypes

/// What is stored of an answer, or confirmed by it.
extension Pipeline {
    func decision(on arrival: Arrival, _ passage: Passage) -> StoreDecision {
        StoreDecision(
            method: passage.wire.method,
            status: arrival.status.code,
            headers: arrival.headers,
            body: arrival.body,
            sentAt: arrival.sentAt,
            receivedAt: arrival.receivedAt,
            secrets: secrets(of: passage),
            isSelecting: isSelecting(passage, arrival.adaptedHeaders)
        )
    }

    /// Those of the engine and of the request, and where its own secrets were filled in: a server may repeat them.
    private func secrets(of passage: Passage) -> FieldSecrets {
        let rules = environment.rules.own.union(passage.wire.rules)
        return FieldSecrets(own: rules.union(IdentityRules(secrets: passage.wire.secretPlaces)))
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
    func entry(of arrival: Arrival, _ question: Question, since asked: Int) -> CacheEntry? {
        let (passage, decision) = (question.passage, decision(on: arrival, question.passage))
        guard counts(arrival, decision, question, since: asked) else { return nil }
        guard let new = decision.stored.flatMap({ passage.entry($0) }) else {
            if passage.wire.method != .head { dropPredecessor(of: arrival, question) }
            return nil
        }
        return marked(new, passage, since: asked)
    }

    /// Whether an answer may change what is stored: it is nobody's alone, and nothing that is newer has come meanwhile.
    private func counts(
        _ arrival: Arrival,
        _ decision: StoreDecision,
        _ question: Question,
        since asked: Int
    ) -> Bool {
        !arrival.isPersonal && !isErased(question.passage, since: asked)
            && !isOvertaken(question.passage, question.stored?.response, since: asked) && !isOlder(decision, question)
    }

    func store(_ entry: CacheEntry, _ question: Question, since asked: Int, isWritten: Bool = false) {
        if !isWritten { cache?.store(entry, replacing: question.stored != nil) }
        checkAgain(entry, question.passage, since: asked)
    }

    /// What an answer has taken the place of goes with it where that may not be stored: it would be served as if nothing newer
    /// were known. Other than a 2xx says nothing of what is there now, nor does one that is none to keep by itself, such as
    /// 202.
    private func dropPredecessor(of arrival: Arrival, _ question: Question) {
        guard let identity = question.passage.identity, (200..<300).contains(arrival.status.code),
            StoreDecision.cacheable.contains(arrival.status.code)
        else { return }
        // Where nothing is known to be there, nothing is written.
        guard question.stored != nil || peek(identity) != nil else { return }
        cache?.forget(identity.key)
    }

    /// Updates or marks stale what is stored of a GET, where an answer to HEAD says so.
    func freshen(by arrival: Arrival, _ question: Question, since asked: Int) {
        let passage = question.passage
        guard passage.wire.method == .head, let identity = passage.identity,
            let stored = question.stored?.response ?? peek(identity),
            counts(arrival, decision(on: arrival, passage), question, since: asked)
        else { return }
        switch HeadDecision(stored, status: arrival.status.code, headers: arrival.headers) {
        case .update:
            if confirm(stored, by: arrival, passage, since: asked).hasToGo { cache?.forget(identity.key) }
        case .invalidate:
            var outdated = stored
            outdated.flags.insert(.invalidated)
            if let entry = passage.entry(outdated) { cache?.confirm(entry, replacing: stored) }
        case .ignore: break
        }
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
            secrets: secrets(of: passage),
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
}
