import Foundation
import HTTPTypes

/// The way of a request to its response: look up, decide, ask, store.
///
/// The one place that acts on a ``CacheDecision``.
struct Pipeline: Sendable {
    let wire: Exchange.Wire
    let activity: Activity
    /// `nil` when there is none, or it could not be opened.
    let cache: Cache?
    let lanes: Lanes
    let flights: Flights
    let holders = PartialHolders()
    let refreshes = Refreshes()
    let forgotten = Forgotten()
    let environment: Environment
    /// Of requests that have none of their own.
    let retry: RetryPolicy
    let credentialRefreshes: CredentialRefreshes?
    let redirectLimit: Int

    /// Milliseconds since 1970.
    func now() -> Int64 { wire.now() }

    func response(
        to request: Request,
        asker: Asker = Asker()
    ) async throws(ConnectionError) -> Response {
        guard !interceptors.isEmpty else { return try await untransformed(request, asker) }
        do throws(ConnectionError) {
            return try await interceptors.transform(try await untransformed(request, asker))
        } catch {
            guard error.code != .parked else { throw error }
            throw await interceptors.transform(error)
        }
    }

    private var interceptors: [any Interceptor] { wire.interceptors }

    private func untransformed(_ request: Request, _ asker: Asker) async throws(ConnectionError) -> Response {
        var request = request
        // The environment has its say once, before the first hop: what a redirect to another origin takes away stays away.
        var passage = try await passage(of: request, asker)
        passage.asker = asker
        if let claim = asker.claim { passage.epoch = claim.epoch(passage.epoch) }
        // What begins where a server is asked; that of a connection has begun.
        var token: ActivityToken?
        defer { token?.end() }
        for _ in 0...redirectLimit {
            let response = try await answer(&passage, &token)
            let next = Redirect.next(
                after: passage.wire,
                rules: environment.rules,
                cache: request.cache,
                timeout: request.timeout,
                response: response
            )
            guard redirectLimit > 0, var next else { return response }
            (next.tags, next.lane, next.retry) = (request.tags, request.lane, request.retry)
            request = next
            let last = passage
            passage = try Passage(next, rules: keyRules, at: last.epoch)
            passage.asker = last.asker
            passage.isForeign = last.isForeign || passage.wire.url.origin != last.wire.url.origin
        }
        throw ConnectionError(.badResponse, "\(request) was redirected more than \(redirectLimit) times")
    }

    /// Worked out once for a request and its copies, unless somebody has to be asked for whom it is, or a file for what it
    /// holds.
    private func passage(
        of request: Request,
        _ asker: Asker = Asker()
    ) async throws(ConnectionError) -> Passage {
        if var known = request.memory.value(by: environment.number, as: Passage.self) {
            known.epoch = forgotten.count
            return known
        }
        let epoch = forgotten.count
        let isAsking = environment.provider != nil
        if isAsking { asker.claim?.step(aside: true) }
        let resolved = try await environment.resolve(request)
        if isAsking { asker.claim?.step(aside: false) }
        let passage = try Passage(resolved, rules: keyRules, at: epoch)
        let isKnown = environment.provider == nil || request.identity != nil
        if isKnown, request.body?.readsFiles != true {
            request.memory.keep(passage, by: environment.number)
        }
        return passage
    }

    /// `nil` where nothing is looked up.
    private var keyRules: KeyRules? { cache == nil ? nil : environment.rules }

    func key(of request: Request) async throws(ConnectionError) -> RequestKey {
        if let key = try await passage(of: request).identity?.key { return key }
        let request = try await environment.resolve(request)
        do { return try CanonicalForm(of: request, rules: environment.rules).key } catch {
            throw ConnectionError(error)
        }
    }

    /// Looked up again where a flight has landed between the look-up and the question.
    private func answer(
        _ passage: inout Passage,
        _ token: inout ActivityToken?
    ) async throws(ConnectionError) -> Response {
        let brought = passage.asker.claim?.takeOutcome(for: passage.identity?.key)
        if let brought { return try settle(brought, passage) }
        var landings = passage.identity.map { flights.landings(of: $0.key) }
        while true {
            if let response = try await decide(&passage, &token, since: landings) { return response }
            // What has landed by now is stored, or cannot be.
            landings = nil
        }
    }

    private func decide(
        _ passage: inout Passage,
        _ token: inout ActivityToken?,
        since landings: Int?
    ) async throws(ConnectionError) -> Response? {
        guard let identity = passage.identity, let cache else { return try await load(&passage, &token) }
        let stored = cache.find(identity.key, request: identity.canonicalForm)
        switch (CacheDecision(now: now(), stored: stored, policy: passage.policy), stored) {
        case (.serve(let source), let stored?): return serve(stored, from: source, passage)
        case (.serveStaleAndRefresh, let stored?):
            refresh(stored, passage)
            return serve(stored, from: .stale, passage)
        case (.ask(let isConditional, _), _):
            begin(&passage, &token)
            let question = Question(passage: passage, stored: stored, isConditional: isConditional)
            guard let outcome = try await outcome(of: question, since: landings) else { return nil }
            token?.note(ActivityOutcome(outcome))
            return try settle(outcome, passage)
        default: return passage.nothingStored
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

    /// Obeys a policy that takes what is stored over a server that fails.
    private func settle(_ outcome: Flight.Outcome, _ passage: Passage) throws(ConnectionError) -> Response {
        guard passage.policy.mode == .networkElseCache, outcome.isFailure, let cache, let identity = passage.identity,
            let stored = cache.find(identity.key, request: identity.canonicalForm),
            case .ask(_, elseStored: true) = CacheDecision(now: now(), stored: stored, policy: passage.policy)
        else { return try outcome.get() }
        return serve(stored, from: .stale, passage, after: outcome.attempts)
    }

    private func refresh(_ stored: StoredResponse, _ passage: Passage) {
        var passage = passage
        let token = passage.begin(.refresh, in: activity)
        (passage.asker.claim, passage.asker.box) = (nil, nil)
        passage.asker.request = token.id
        let isConditional = stored.flags.contains(.hasValidator)
        let question = Question(passage: passage, stored: stored, isConditional: isConditional, isAwaited: false)
        refreshes.add { [self] in
            let outcome = try? await outcome(of: question, since: nil)
            token.end(outcome.map { ActivityOutcome($0) } ?? ActivityOutcome())
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
}

extension ConnectionError {
    /// A server that answers with a status of 3xx or 4xx has not failed, also where that is an error for the app.
    fileprivate var isFailure: Bool {
        if let response, (300..<500).contains(response.status.code) { return false }
        return ![.cancelled, .badRequest, .noEngine].contains(code)
    }
}
