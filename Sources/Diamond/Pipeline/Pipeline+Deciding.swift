import DiamondSQLite
import Foundation
import HTTPTypes

/// One hop of the way: what is stored, what is asked for, and what becomes of what comes back.
///
/// The one place that acts on a ``CacheDecision``.
extension Pipeline {
    /// Looked up again where a flight has landed between the lookup and the question.
    func answer(
        _ passage: inout Passage,
        _ token: inout ActivityToken?
    ) async throws(ConnectionError) -> Response {
        let brought = passage.asker.claim?.takeOutcome(for: passage.identity?.key)
        if let brought, !passage.asksAgain(after: brought) { return try await settle(brought, passage) }
        var landings = passage.identity.map { flights.landings(of: $0.key) }
        while true {
            do throws(ConnectionError) {
                if let response = try await decide(&passage, &token, since: landings) { return response }
            } catch {
                guard passage.looksAgain(after: error) else { throw error }
            }
            // What has landed by now is stored, or cannot be.
            landings = nil
        }
    }

    private func decide(
        _ passage: inout Passage,
        _ token: inout ActivityToken?,
        since landings: Int?
    ) async throws(ConnectionError) -> Response? {
        guard passage.identity != nil else { return try await load(&passage, &token) }
        let question: Question
        switch next(&passage, &token) {
        case .hand(let stored, let source): return try await hand(stored, from: source, passage)
        case .handStale(let stored, let found): return try await handStale(stored, passage, since: found)
        case .fail: return passage.nothingStored
        case .ask(let next): question = next
        }
        guard let outcome = try await outcome(of: question, since: landings), !passage.asksAgain(after: outcome)
        else { return nil }
        token?.note(ActivityOutcome(outcome))
        passage.goOn(after: outcome)
        return try await settle(outcome, passage)
    }

    /// What a ``CacheDecision`` leads to.
    private enum Step {
        case hand(StoredAnswer, Response.Source)
        /// - Parameter since: how many ``revocations`` there were when it was found.
        case handStale(StoredAnswer, since: Int)
        case ask(Question)
        case fail
    }

    private func next(_ passage: inout Passage, _ token: inout ActivityToken?) -> Step {
        let found = revocations
        let stored = find(for: passage)
        switch (CacheDecision(now: now(), stored: stored?.response, policy: passage.policy), stored) {
        case (.serve(let source), let stored?): return .hand(stored, source)
        case (.serveStaleAndRefresh, let stored?): return .handStale(stored, since: found)
        case (.ask(let isConditional, _), _):
            begin(&passage, &token)
            return .ask(Question(passage: passage, stored: stored, isConditional: isConditional, found: found))
        default: return .fail
        }
    }

    /// Brings up to date what it hands out: behind the answer, and where its body is read in pieces, behind the last, because
    /// what comes takes the place of what is read.
    // Not inlined: what few answers need would lie in the frames of all.
    @inline(never)
    private func handStale(
        _ stored: StoredAnswer,
        _ passage: Passage,
        since found: Int
    ) async throws(ConnectionError) -> Response {
        guard passage.asker.sink != nil else {
            refresh(stored, passage, since: found)
            return try await hand(stored, from: .stale, passage)
        }
        do throws(ConnectionError) {
            let response = try await hand(stored, from: .stale, passage)
            refresh(stored, passage, since: found)
            return response
        } catch {
            // Of what cannot be read there is nothing to confirm, and it is looked up again.
            if error.code != .unread { refresh(stored, passage, since: found) }
            throw error
        }
    }

    /// What is stored; for a sink without the body, which it is handed in pieces.
    private func find(for passage: Passage) -> StoredAnswer? {
        guard let cache, let identity = passage.identity, !passage.marks.contains(.unreadable) else { return nil }
        guard passage.asker.sink != nil else {
            return cache.find(identity).map { StoredAnswer($0) }
        }
        do throws(CacheError) {
            let reader = try cache.bodyReader(
                identity.key, request: identity.canonicalForm, url: identity.knownURL)
            return reader.map { StoredAnswer($0.stored, .some($0)) }
        } catch {
            report(error)
            return nil
        }
    }

    private func outcome(
        of question: Question,
        since landings: Int?
    ) async throws(ConnectionError) -> Flight.Outcome? {
        do throws(ConnectionError) {
            return try await ask(question, since: landings)
        } catch {
            guard error.code != .parked else { throw error }
            return .failure(error)
        }
    }

    /// Obeys a policy that takes what is stored over a server that fails, where nobody has seen its answer begin.
    private func settle(_ outcome: Flight.Outcome, _ passage: Passage) async throws(ConnectionError) -> Response {
        guard passage.policy.mode == .networkElseCache else { return try outcome.get() }
        return try await settle(outcome, elseStored: passage)
    }

    // Not inlined, as with what is stale.
    @inline(never)
    private func settle(
        _ outcome: Flight.Outcome,
        elseStored passage: Passage
    ) async throws(ConnectionError) -> Response {
        guard passage.asker.sink?.isCommitted != true, await isFailure(outcome, passage),
            let stored = find(for: passage),
            case .ask(_, elseStored: true) = CacheDecision(
                now: now(), stored: stored.response, policy: passage.policy)
        else { return try outcome.get() }
        let isFresh = stored.response.isFresh(at: now(), maxAge: passage.policy.maxAge?.milliseconds)
        do throws(ConnectionError) {
            return try await hand(stored, from: isFresh ? .cache : .stale, passage, after: outcome.attempts)
        } catch {
            // The server, which failed, is not asked all over again.
            guard error.code == .unread else { throw error }
            return try outcome.get()
        }
    }

    /// Also an answer that is of no use to the one who asks; not one that has no room where it goes.
    private func isFailure(_ outcome: Flight.Outcome, _ passage: Passage) async -> Bool {
        if passage.asker.sink != nil, outcome.isNotTaken { return false }
        guard !outcome.isFailure, case .success(let response) = outcome else { return outcome.isFailure }
        return await refusal(of: response, passage)?.isFailure ?? false
    }

    private func refresh(_ stored: StoredAnswer, _ passage: Passage, since found: Int) {
        // One at a time: while it waits, others may find the same stale by the thousand.
        let key = passage.identity?.key
        if let key, !refreshed.withLock({ $0.insert(key).inserted }) { return }
        let token = passage.begin(.refresh, in: activity)
        let question = Question(
            passage: passage.behindAnswer(in: token.id), stored: StoredAnswer(stored.response),
            isConditional: stored.response.flags.contains(.hasValidator), isAwaited: false, found: found)
        refreshes.add { [self] in
            let outcome = try? await outcome(of: question, since: nil)
            if let key { _ = refreshed.withLock { $0.remove(key) } }
            // What would be for another alone is not stored, so that there is nothing to refresh.
            token.end(outcome.flatMap { $0.isUnshared ? nil : ActivityOutcome($0) } ?? ActivityOutcome())
        }
    }

    // Not inlined, as with what is stale.
    @inline(never)
    private func load(
        _ passage: inout Passage,
        _ token: inout ActivityToken?
    ) async throws(ConnectionError) -> Response {
        guard passage.policy.mode != .cacheOnly else { return passage.nothingStored }
        begin(&passage, &token)
        let question = dated(Question(passage: passage))
        do throws(ConnectionError) {
            let response = try await alone(question, try await request(for: question))
            token?.note(ActivityOutcome(response))
            return response
        } catch {
            token?.note(ActivityOutcome(error))
            throw error
        }
    }
}

extension Cache {
    /// What is stored for a passage, fresh or not.
    func find(_ identity: Passage.Identity) -> StoredResponse? {
        find(identity.key, request: identity.canonicalForm, url: identity.knownURL)
    }
}

extension Flight.Outcome {
    /// Whether the flight is for another alone.
    fileprivate var isUnshared: Bool { if case .failure(let error) = self { error.code == .unshared } else { false } }

    fileprivate var attempts: [Attempt] {
        switch self {
        case .success(let response): response.attempts
        case .failure(let error): error.attempts
        }
    }

    /// Whether the server was not reached, or failed itself.
    fileprivate var isFailure: Bool {
        switch self {
        case .success(let response): response.status.code >= 500
        case .failure(let error): error.isFailure
        }
    }

    /// Whether the body was refused where it was to go.
    fileprivate var isNotTaken: Bool {
        guard case .failure(let error) = self else { return false }
        return [.cannotWrite, .bodyTooLarge].contains(error.code)
    }
}

extension ConnectionError {
    /// A server that answers with a status of 3xx or 4xx has not failed, also where that is an error for the app.
    fileprivate var isFailure: Bool {
        if let response, (300..<500).contains(response.status.code) { return false }
        return ![.cancelled, .badRequest, .noEngine].contains(code)
    }
}
