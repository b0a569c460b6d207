import DiamondSQLite
import Foundation
import HTTPTypes

/// The way of a request to its response, hop by hop: look up, decide, ask, store.
///
/// A class, because all that goes on has it: as a value of a dozen references it cost more to hand on than to use.
final class Pipeline: Sendable {
    let wire: Exchange.Wire
    let activity: Activity
    /// `nil` when there is none, or it could not be opened.
    let cache: Cache?
    let lanes: Lanes
    let flights = Flights()
    /// What was invalidated or erased lately: the cache's, where there is one.
    let revoked: Revocations
    let holders = PartialHolders()
    /// What brings up to date what was served stale.
    let refreshes = RunningTasks()
    /// Those of them that share no flight, and so are begun only one at a time.
    let refreshed = Guarded<Set<RequestKey>>([])
    /// What brings bodies that are not collected.
    let streams = RunningTasks()
    let forgotten = Forgotten()
    let environment: Environment
    /// Of requests that have none of their own.
    let retry: RetryPolicy
    let credentialRefreshes: CredentialRefreshes?
    let redirectLimit: Int
    /// Where requests are kept that are sent later; `nil` without a store.
    let replays: QueuePlace?
    let reachability: any Reachability

    init(
        wire: Exchange.Wire,
        activity: Activity,
        cache: Cache?,
        lanes: Lanes,
        environment: Environment,
        retry: RetryPolicy,
        credentialRefreshes: CredentialRefreshes?,
        redirectLimit: Int,
        replays: QueuePlace?,
        reachability: any Reachability
    ) {
        (self.wire, self.activity, self.cache, self.lanes) = (wire, activity, cache, lanes)
        revoked = cache?.revocations ?? Revocations()
        (self.environment, self.retry, self.redirectLimit) = (environment, retry, redirectLimit)
        (self.credentialRefreshes, self.replays, self.reachability) = (credentialRefreshes, replays, reachability)
    }

    /// Milliseconds since 1970.
    func now() -> Int64 { wire.now() }

    func response(
        to request: Request,
        asker: Asker = Asker()
    ) async throws(ConnectionError) -> Response {
        do throws(ConnectionError) {
            guard !request.isKept else { return try await keeping(request, asker) }
            return try await plainResponse(to: request, asker)
        } catch {
            throw await told(error, asker)
        }
    }

    func plainResponse(to request: Request, _ asker: Asker) async throws(ConnectionError) -> Response {
        try await taken(try await untransformed(request, asker), by: asker)
    }

    /// The error as the caller gets it.
    func told(_ error: ConnectionError, _ asker: Asker) async -> ConnectionError {
        guard error.code != .parked, !wire.interceptors.isEmpty else { return error }
        return await aside(asker) { await wire.interceptors.transform(error) }
    }

    /// Lets code of the app run, and meanwhile another connection: what it waits for may be one of this engine.
    func aside<Value, Failure: Error>(
        _ asker: Asker,
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        asker.claim?.giveBackPlace(lanes)
        asker.claim?.step(aside: true)
        defer { asker.claim?.step(aside: false) }
        return try await body()
    }

    /// What the one who asks gets of a response as it came: transformed first, so that what is taken, validated and decoded
    /// is the same from a server and from the cache.
    func taken(_ response: Response, by asker: Asker) async throws(ConnectionError) -> Response {
        guard !wire.interceptors.isEmpty else { return try await asker.acceptance?.taken(response, by: []) ?? response }
        return try await aside(asker) { () async throws(ConnectionError) in
            guard let acceptance = asker.acceptance else { return try await wire.interceptors.transform(response) }
            return try await acceptance.taken(response, by: wire.interceptors)
        }
    }

    /// The response as it came, or as it is stored.
    func untransformed(_ request: Request, _ asker: Asker) async throws(ConnectionError) -> Response {
        // The environment has its say once, before the first hop: what a redirect to another origin takes away stays away.
        var passage = try await passage(of: request, asker)
        passage = considering(passage, asker)
        passage.setOut(for: asker)
        // What begins where a server is asked; that of a connection has begun.
        var token: ActivityToken?
        defer { token?.end() }
        var (hops, wasAnswered) = (0, false)
        while true {
            do throws(ConnectionError) {
                let response = try await answer(&passage, &token)
                wasAnswered = wasAnswered || response.source.isOfServer
                guard let next = try next(after: response, to: request, behind: passage, hops) else { return response }
                (passage, hops) = (next, hops + 1)
                if wasAnswered { asker.gate?.noteRedirect() }
            } catch {
                // What the hop itself comes to is known here only as the end of the request.
                guard wasAnswered else { throw error }
                asker.gate?.noteRedirect()
                throw error.behindRedirect
            }
        }
    }

    /// Where a response leads.
    ///
    /// - Parameter hops: how many redirects were followed before.
    /// - Returns: `nil` where it is the answer.
    private func next(
        after response: Response,
        to request: Request,
        behind passage: Passage,
        _ hops: Int
    ) throws(ConnectionError) -> Passage? {
        guard let next = redirect(of: request, response, passage) else { return nil }
        guard hops < redirectLimit else {
            let advice = "look where it leads, or raise the engine's redirectLimit"
            let message = "\(next) was redirected more than \(redirectLimit) times: \(advice)"
            throw ConnectionError(.badResponse, message)
        }
        let hasBody = !Redirect.dropsBody(response.status.code, passage.wire.method)
        return considering(
            try Passage(
                next, behind: passage, withBody: hasBody, since: response.ownBegin, rules: environment.rules),
            passage.asker)
    }

    /// With the jar's cookies, but not where an answer has come already, maybe to a later hop: a cookie that it has set itself
    /// does not make it another question's.
    private func considering(_ passage: Passage, _ asker: Asker) -> Passage {
        asker.claim?.hasLanded == true ? passage : passage.considering(wire.cookies, at: wire.date)
    }

    /// What a response leads to, with all that the request says beside.
    private func redirect(of request: Request, _ response: Response, _ passage: Passage) -> Request? {
        guard redirectLimit > 0, response.status.kind == .redirection, passage.canFollow(response) else { return nil }
        if let oddity = Redirect.oddity(of: response, from: passage.wire) {
            activity.report(.oddRedirect(reason: oddity))
        }
        let next = Redirect.next(
            after: passage.wire,
            rules: environment.rules,
            cache: request.cache,
            timeout: request.timeout,
            response: response
        )
        guard var next else { return nil }
        (next.tags, next.lane, next.retry) = (request.tags, request.lane, request.retry)
        next.bodyLimit = request.bodyLimit
        return next
    }

    /// Worked out once for a request and its copies, unless somebody has to be asked for whom it is, or a file for what it
    /// holds.
    private func passage(of request: Request, _ asker: Asker = Asker()) async throws(ConnectionError) -> Passage {
        if asker.gate != nil { return try Passage(request, rules: environment.rules, at: forgotten.count) }
        if let epoch = asker.resolvedAt { return try Passage(request, rules: environment.rules, at: epoch) }
        if let passage = try passageAtOnce(of: request) { return passage }
        // Asked once for all runs of a connection that has to wait.
        if let passage = asker.claim?.found as? Passage { return passage }
        let passage = try await askedPassage(of: request, asker)
        asker.claim?.note(passage)
        return passage
    }

    private func askedPassage(of request: Request, _ asker: Asker) async throws(ConnectionError) -> Passage {
        let epoch = forgotten.count
        let resolved = try await aside(asker) { () async throws(ConnectionError) in
            try await environment.resolve(request, within: timeLeft(of: request))
        }
        let passage = try Passage(resolved, rules: environment.rules, at: epoch)
        if request.identity != nil { keep(passage, of: request) }
        return passage
    }

    /// What is known of a request, or can be without asking anybody; else `nil`.
    func passageAtOnce(of request: Request) throws(ConnectionError) -> Passage? {
        let epoch = forgotten.count
        if let known = Passage(known: request.memory, by: environment.number, at: epoch) { return known }
        guard environment.provider == nil else { return nil }
        var resolved = request
        try environment.complete(&resolved)
        let passage = try Passage(resolved, rules: environment.rules, at: epoch)
        keep(passage, of: request)
        return passage
    }

    private func keep(_ passage: Passage, of request: Request) {
        guard request.body?.readsFiles != true else { return }
        passage.keep(in: request.memory, by: environment.number)
    }

    /// The key where it is known already.
    func knownKey(of request: Request) -> RequestKey? {
        Passage(known: request.memory, by: environment.number)?.identity?.key
    }

    func key(of request: Request) async throws(ConnectionError) -> RequestKey {
        let passage = try await passage(of: request)
        if let key = passage.identity?.key { return key }
        do { return try CanonicalForm(of: passage.wire, rules: environment.rules).key } catch {
            throw ConnectionError(error)
        }
    }
}

extension Response.Source {
    /// Whether a server was asked for it.
    fileprivate var isOfServer: Bool { self == .network || self == .revalidated }
}
