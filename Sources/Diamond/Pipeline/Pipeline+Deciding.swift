import DiamondSQLite
import Foundation
import HTTPTypes

/// One hop of the way: what is stored, what is asked for, and what becomes of what comes back.
///
/// The one place that acts on a ``CacheDecision``.
extension Pipeline {
    /// Looked up again where a flight has landed between the look-up and the question.
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
        let (decision, question) = look(&passage, &token)
        switch decision {
        case .serve(let source): return try await hand(question, from: source)
        case .serveStaleAndRefresh: return try await handStale(question)
        case .fail: return passage.nothingStored
        case .ask: break
        }
        guard let outcome = try await outcome(of: question, since: landings), !passage.asksAgain(after: outcome)
        else { return nil }
        token?.note(ActivityOutcome(outcome))
        passage.goOn(after: outcome)
        return try await settle(outcome, passage)
    }

    /// What is stored, what that leads to, and what a server is asked, where it is.
    private func look(_ passage: inout Passage, _ token: inout ActivityToken?) -> (CacheDecision, Question) {
        let found = revocations
        let (stored, reader) = find(for: passage)
        let decision = CacheDecision(now: now(), stored: stored, policy: passage.policy)
        var isConditional = false
        if case .ask(conditionally: let hasValidator, _) = decision {
            begin(&passage, &token)
            isConditional = hasValidator
        }
        let question = Question(
            passage: passage, stored: stored, reader: reader, isConditional: isConditional, found: found)
        return (decision, question)
    }

    /// Brings up to date what it hands out: behind the answer, and where its body is read in pieces, behind the last, because
    /// what comes takes the place of what is read.
    @inline(never)
    private func handStale(_ question: Question) async throws(ConnectionError) -> Response {
        guard question.passage.asker.sink != nil else {
            refresh(question)
            return try await hand(question, from: .stale)
        }
        do throws(ConnectionError) {
            let response = try await hand(question, from: .stale)
            refresh(question)
            return response
        } catch {
            // Of what cannot be read there is nothing to confirm, and it is looked up again.
            if error.code != .unread { refresh(question) }
            throw error
        }
    }

    /// What is stored; for a sink without the body, which it is handed in pieces.
    private func find(for passage: Passage) -> (stored: StoredResponse?, reader: Boxed<BodyReader>) {
        guard let cache, let identity = passage.identity, !passage.marks.contains(.unreadable) else {
            return (nil, .none)
        }
        guard passage.asker.sink != nil else {
            let stored = cache.find(identity.key, request: identity.canonicalForm, url: identity.printableURL)
            return (stored, .none)
        }
        do throws(CacheError) {
            let reader = try cache.bodyReader(identity.key, request: identity.canonicalForm)
            return (reader?.stored, Boxed(reader))
        } catch {
            report(error)
            return (nil, .none)
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

    @inline(never)
    private func settle(
        _ outcome: Flight.Outcome,
        elseStored passage: Passage
    ) async throws(ConnectionError) -> Response {
        guard passage.asker.sink?.isCommitted != true, await isFailure(outcome, passage),
            case let (stored?, reader) = find(for: passage),
            case .ask(_, elseStored: true) = CacheDecision(now: now(), stored: stored, policy: passage.policy)
        else { return try outcome.get() }
        let question = Question(passage: passage, stored: stored, reader: reader)
        do throws(ConnectionError) {
            return try await hand(question, from: .stale, after: outcome.attempts)
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

    /// What lies in memory and may be served as it is, where no code of the app has a say: found without a wait, and within
    /// what a change of threads alone would cost several times.
    ///
    /// - Returns: `nil` where it is another case, also one that fails.
    func atHand(_ request: Request) -> Response? {
        guard let cache, isPlain(request), let passage = try? passageAtOnce(of: request),
            let identity = passage.identity,
            let stored = cache.findAtHand(identity.key, request: identity.canonicalForm),
            case .serve(let source) = CacheDecision(now: now(), stored: stored, policy: passage.policy),
            redirectLimit == 0 || !(300..<400).contains(stored.status)
        else { return nil }
        return serve(stored, from: source, passage)
    }

    /// Whether nobody is asked or told about a request that the cache can answer, and its key is made of a few bytes.
    private func isPlain(_ request: Request) -> Bool {
        wire.interceptors.isEmpty && wire.cookies == nil && request.body == nil && !request.isKept
            && !lanes[request.lane].isSerial && !activity.isObserved
    }

    /// Brings what is stored up to date behind the answer.
    private func refresh(_ question: Question) {
        let passage = question.passage
        // Without a body beside it, it shares no flight: there is one at a time.
        let key = passage.asker.sink == nil ? nil : passage.identity?.key
        if let key, !bodilessRefreshes.withLock({ $0.insert(key).inserted }) { return }
        let token = passage.begin(.refresh, in: activity)
        let isConditional = question.stored?.flags.contains(.hasValidator) ?? false
        let question = Question(
            passage: passage.behindAnswer(in: token.id), stored: question.stored, isConditional: isConditional,
            isAwaited: false, found: question.found)
        refreshes.add { [self] in
            let outcome = try? await outcome(of: question, since: nil)
            if let key { _ = bodilessRefreshes.withLock { $0.remove(key) } }
            // What would be for another alone is not stored, so that there is nothing to refresh.
            token.end(outcome.flatMap { $0.isUnshared ? nil : ActivityOutcome($0) } ?? ActivityOutcome())
        }
    }

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

    func serve(
        _ stored: StoredResponse,
        from source: Response.Source,
        _ passage: Passage,
        after attempts: [Attempt] = []
    ) -> Response {
        activity.report(.hit(source))
        if let key = passage.identity?.key { cache?.count(source, of: stored, under: key) }
        let isHead = passage.wire.method == .head
        var response = stored.response(from: source, at: now(), url: passage.url, isHead: isHead)
        response.attempts = attempts
        return response
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
