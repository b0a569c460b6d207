import DiamondSQLite
import Foundation
import HTTPTypes

/// Takes a request to its response. The order of operations:
///
/// 1. **Resolve** the request: URL, headers, identity, policy, key (``RequestResolver``).
/// 2. **Look up** what is stored, and decide what it is good for (``CacheLookup``): serve it, serve it and refresh it, ask the
///    server, or fail.
/// 3. **Share** the exchange with callers that ask for the same (``ExchangeSharing``).
/// 4. **Admit** it to the wire, and take into account what has changed while it waited (``Admission``).
/// 5. **Attempt** it, again where the retry policy says so (``Exchange``).
/// 6. **Store** the response (``ResponseStore``).
///
/// A redirect is another hop through the same stages. A request that is kept to be sent later goes through
/// ``durableResponse(to:for:)`` first.
///
/// A class, because everything that goes on has it.
final class Pipeline: Sendable {
    let wire: Exchange.Wire
    let activity: Activity
    /// `nil` when there is none, or it could not be opened.
    let cache: Cache?
    let lanes: Lanes
    /// The recent invalidations: the cache's, where there is one.
    let invalidations: InvalidationLog
    let resumeStore: ResumeStore
    /// Refreshes of responses that were served stale.
    let refreshes = TaskSet()
    /// The keys of those refreshes: one at a time for a key.
    let refreshing = Guarded<Set<RequestKey>>([])
    /// Exchanges whose bodies are streamed.
    let streams = TaskSet()
    let environment: Environment
    /// The policy of requests that have none of their own.
    let retry: RetryPolicy
    let credentialRefreshes: CredentialRefreshes?
    let redirectLimit: Int
    /// The queue for requests that are sent later; `nil` without a store.
    let replays: JobSlot?
    let reachability: any Reachability

    let time: RequestTime
    let resolver: RequestResolver
    let lookup: CacheLookup
    let builder: RequestBuilder
    let sharing: ExchangeSharing
    let admission: Admission
    let store: ResponseStore

    init(
        wire: Exchange.Wire,
        activity: Activity,
        cache: Cache?,
        lanes: Lanes,
        environment: Environment,
        retry: RetryPolicy,
        credentialRefreshes: CredentialRefreshes?,
        redirectLimit: Int,
        replays: JobSlot?,
        reachability: any Reachability
    ) {
        self.wire = wire
        self.activity = activity
        self.cache = cache
        self.lanes = lanes
        self.environment = environment
        self.retry = retry
        self.credentialRefreshes = credentialRefreshes
        self.redirectLimit = redirectLimit
        self.replays = replays
        self.reachability = reachability
        invalidations = cache?.invalidations ?? InvalidationLog()
        resumeStore = ResumeStore(cache: cache, activity: activity)
        time = RequestTime(clock: wire.repetitions.clock, retry: retry, waits: wire.repetitions.waits)
        resolver = RequestResolver(
            environment: environment, invalidations: invalidations, time: time, cookies: wire.cookies, now: wire.now)
        lookup = CacheLookup(cache: cache, activity: activity, now: wire.now)
        builder = RequestBuilder(environment: environment, refreshes: credentialRefreshes, time: time)
        sharing = ExchangeSharing(lookup: lookup, invalidations: invalidations, time: time)
        admission = Admission(
            lanes: lanes, activity: activity, invalidations: invalidations, time: time, builder: builder)
        store = ResponseStore(
            cache: cache, environment: environment, invalidations: invalidations, hasCookies: wire.cookies != nil)
    }

    // MARK: One request

    /// Returns the response to a request, as the caller gets it.
    func response(
        to request: Request,
        for caller: Caller = Caller()
    ) async throws(ConnectionError) -> Response {
        do throws(ConnectionError) {
            guard !request.isReplayable else { return try await durableResponse(to: request, for: caller) }
            return try await unkeptResponse(to: request, for: caller)
        } catch {
            throw await transformed(error, for: caller)
        }
    }

    /// Returns the response to a request that is not kept, its errors as they came.
    func unkeptResponse(to request: Request, for caller: Caller) async throws(ConnectionError) -> Response {
        try await handled(try await untransformedResponse(to: request, for: caller), by: caller)
    }

    /// Returns the response as it came, or as it is stored: hop by hop.
    @inline(never)
    func untransformedResponse(
        to request: Request,
        for caller: Caller
    ) async throws(ConnectionError) -> Response {
        var context = try await resolver.context(of: request, for: caller)
        // Begun where a server is asked; that of a connection has begun.
        var token: ActivityToken?
        defer { token?.end() }
        var redirects = Redirects(limit: redirectLimit)
        while true {
            do throws(ConnectionError) {
                var begin = context.begin
                let response = try await response(for: context, &token, &begin)
                redirects.note(response)
                guard let next = try next(after: response, to: request, from: context, &redirects, begin) else {
                    return response
                }
                context = next
                if redirects.wasAnswered { caller.gate?.noteRedirect() }
            } catch {
                // What the hop itself comes to is known here only as the end of the request.
                guard redirects.wasAnswered else { throw error }
                caller.gate?.noteRedirect()
                throw error.behindRedirect
            }
        }
    }

    /// Returns the context of the next hop; `nil` where the response is the answer.
    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    private func next(
        after response: Response,
        to request: Request,
        from context: RequestContext,
        _ redirects: inout Redirects,
        _ begin: Int64?
    ) throws(ConnectionError) -> RequestContext? {
        let hop = try redirects.next(after: response, to: request, from: context, environment.rules, activity)
        guard let hop else { return nil }
        return try resolver.context(of: hop.request, after: context, withBody: hop.hasBody, begin: begin)
    }

    // MARK: One hop

    /// Returns the response of one hop: what is stored, or what the server answers.
    ///
    /// - Parameters:
    ///   - token: counts the request, from when a server is asked.
    ///   - begin: the start of the request's time, for the next hop.
    @inline(never)
    private func response(
        for context: RequestContext,
        _ token: inout ActivityToken?,
        _ begin: inout Int64?
    ) async throws(ConnectionError) -> Response {
        var progress = HopProgress(begin: context.begin)
        while true {
            let instant = invalidations.now
            switch lookup.step(for: context, ignoresStored: progress.ignoresStored) {
            case .serve(let stored, let source):
                if let response = try await served(stored, source, for: context, &progress).value { return response }
            case .serveStale(let stored):
                if let response = try await servedStale(stored, for: context, at: instant, &progress).value {
                    return response
                }
            case .fail: return context.resolved.nothingStored
            case .ask(let stored, let isConditional):
                count(context, &token)
                let plan = ExchangePlan(
                    context, stored: stored, isConditional: isConditional, mayBeSuperseded: progress.maySupersede,
                    begin: progress.begin, parent: context.caller.request ?? token?.id, lookedUpAt: instant)
                let outcome = await outcome(of: plan, progress)
                guard let result = progress.result(of: outcome, plan, time) else { continue }
                begin = progress.begin(after: time.hasDeadline(context.resolved) ? outcome.begin : nil)
                token?.note(result)
                guard context.policy.mode == .networkElseCache else { return try result.get() }
                return try await settledElseStored(result, for: context)
            }
        }
    }

    /// Exchanges a request, together with the callers that ask for the same, where it may be shared.
    @inline(never)
    func outcome(of plan: ExchangePlan, _ progress: HopProgress) async -> ExchangeOutcome {
        do throws(ConnectionError) {
            let request = try plan.hasSecrets ? await builder.filledRequest(for: plan) : builder.request(for: plan)
            // A caller whose time is over joins no exchange.
            let limit = try ownTime(for: plan, progress)
            let joinedAt = plan.begin ?? time.clock.uptime()
            let countMiss: @Sendable () -> Void = { [self] in self.countMiss(of: plan, progress) }
            guard !progress.isAlone, let key = sharing.key(of: request) else {
                return try await ownExchange(request, whenAdmitted: countMiss)
            }
            let outcome = await plan.context.caller.aside {
                await sharing.outcome(for: key, plan, within: limit, whenJoined: countMiss) { [self] flight in
                    await sharedExchange(request, for: flight)
                }
            }
            return outcome.joined(at: joinedAt)
        } catch {
            return ExchangeOutcome(error)
        }
    }

    /// The caller's own time for a shared exchange; `none` where that of the exchange is enough.
    @inline(never)
    private func ownTime(
        for plan: ExchangePlan,
        _ progress: HopProgress
    ) throws(ConnectionError) -> IndirectOptional<ExchangeSharing.OwnTime> {
        if let late = progress.late {
            let rest = Duration.milliseconds(max(0, late.deadline - time.clock.uptime()))
            return .some(ExchangeSharing.OwnTime(rest: rest, error: late.error))
        }
        guard let rest = try time.rest(of: plan.context.resolved, since: plan.begin) else { return .none }
        return .some(ExchangeSharing.OwnTime(rest: rest, error: ConnectionError(outOfTime: true)))
    }
}
