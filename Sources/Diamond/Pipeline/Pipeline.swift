import DiamondSQLite
import Foundation
import HTTPTypes

/// The path of a request to its response. The order of operations:
///
/// 1. **Resolve** the request: URL, headers, identity, policy, key (``RequestResolver``).
/// 2. **Look up** the stored response, and decide how it may be used (``CacheLookup``): serve it, serve it and refresh
///    it, send the request, or fail.
/// 3. **Share** the exchange with callers that send equal requests (``ExchangeSharing``).
/// 4. **Admit** it to the wire, and update it for changes during the wait (``Admission``).
/// 5. **Attempt** it, again if the retry policy says so (``RetryLoop``).
/// 6. **Store** the response (``ResponseStore``).
///
/// A redirect is another hop through the same stages. A durable request goes through ``durableResponse(to:for:)``
/// first.
///
/// It is a class because every task of the engine has it.
// Thousands of callers may wait at the same time, each with the async frames of the functions that it is in. Functions
// that few callers need, that handle large values, or that do not wait are not inlined into these: otherwise a caller
// that waits takes twice the memory, and an exchange three times (`scripts/bench queued-memory engine-nostore-64`).
final class Pipeline: Sendable {
    let exchangeEnvironment: ExchangeEnvironment
    let activity: Activity
    /// The cache; `nil` if there is none, or it could not be opened.
    let cache: Cache?
    /// The seal of the part files of downloads, with or without a cache; `nil` if they are in clear.
    let seal: (any CacheSeal)?
    let lanes: Lanes
    /// The recent invalidations: those of the cache, if there is one.
    let invalidations: InvalidationLog
    /// The refreshes of responses that were served stale.
    let refreshes = TaskSet<RefreshKey>()
    /// The exchanges whose bodies are streamed.
    let streams = TaskSet<Never>()
    let environment: Environment
    let redirectLimit: Int
    /// The queue of durable requests; `nil` without a store.
    let replays: JobSlot?
    let reachability: any Reachability
    /// Reports the origins that have answered with success, for jobs that wait because they could not be reached.
    let answers = Broadcast<String>()
    /// Reports the new responses of an engine without a cache, for observed queries.
    let newAnswers = Broadcast<NewAnswer>()

    let time: RequestTime
    let resolver: RequestResolver
    let lookup: CacheLookup
    let builder: RequestBuilder
    let sharing: ExchangeSharing
    let admission: Admission
    let store: ResponseStore

    init(
        exchangeEnvironment: ExchangeEnvironment,
        lookup: CacheLookup,
        builder: RequestBuilder,
        lanes: Lanes,
        seal: (any CacheSeal)?,
        redirectLimit: Int,
        replays: JobSlot?,
        reachability: any Reachability
    ) {
        self.exchangeEnvironment = exchangeEnvironment
        self.lookup = lookup
        self.builder = builder
        self.lanes = lanes
        self.seal = seal
        self.redirectLimit = redirectLimit
        self.replays = replays
        self.reachability = reachability
        activity = lookup.activity
        cache = lookup.cache
        environment = builder.environment
        time = builder.time
        invalidations = cache?.invalidations ?? InvalidationLog()
        resolver = RequestResolver(
            environment: environment, invalidations: invalidations, time: time, cookies: exchangeEnvironment.cookies,
            now: exchangeEnvironment.now)
        let unshared = UnsharedKeys()
        let fleet = FleetSharing(lookup: lookup, time: time)
        sharing = ExchangeSharing(
            unshared: unshared, fleet: fleet, lookup: lookup, invalidations: invalidations, time: time)
        admission = Admission(lanes: lanes, activity: activity, invalidations: invalidations, builder: builder)
        store = ResponseStore(
            lookup: lookup, environment: environment, invalidations: invalidations, unshared: unshared,
            fleet: fleet, hasCookies: exchangeEnvironment.cookies != nil)
    }

    // MARK: One request

    /// Returns the response to a request, as the caller gets it.
    func response(
        to request: Request,
        for caller: Caller = Caller()
    ) async throws(ConnectionError) -> Response {
        do throws(ConnectionError) {
            guard !request.isReplayable else { return try await durableResponse(to: request, for: caller) }
            return try await directResponse(to: request, for: caller)
        } catch {
            throw await transformed(error, for: caller)
        }
    }

    /// Returns the response to a request that need not be queued; its errors are not transformed.
    func directResponse(to request: Request, for caller: Caller) async throws(ConnectionError) -> Response {
        var response = try await untransformedResponse(to: request, for: caller)
        guard caller.handler == nil, exchangeEnvironment.interceptors.isEmpty else {
            return try await handled(response, by: caller)
        }
        // That of a server has the decoder, and is not copied to set it again.
        if response.facts.decoder == nil { setDecoder(of: &response) }
        return response
    }

    @inline(never)
    private func setDecoder(of response: inout Response) { response.facts.decoder = exchangeEnvironment.decoder }

    /// Returns the response from the server or the cache, before it is transformed. Follows redirects hop by hop.
    func untransformedResponse(
        to request: Request,
        for caller: Caller
    ) async throws(ConnectionError) -> Response {
        var context = try await resolver.context(of: request, for: caller)
        // Begins when the request is sent. The token of a connection has begun already.
        var token: ActivityToken?
        defer { token?.end() }
        var redirects = Redirects(limit: redirectLimit)
        while true {
            do throws(ConnectionError) {
                var timeStart = context.timeStart
                let response = try await hopResponse(for: context, token: &token, timeStart: &timeStart)
                redirects.note(response)
                guard
                    let next = try next(
                        after: response, to: request, from: context, redirects: &redirects, timeStart: timeStart)
                else {
                    return response
                }
                context = next
                if redirects.wasAnswered { caller.gate?.noteRedirect() }
            } catch {
                // The error of a hop is the error of the request, and a server has answered before.
                guard redirects.wasAnswered else { throw error }
                caller.gate?.noteRedirect()
                throw error.afterRedirect
            }
        }
    }

    /// Returns the context of the next hop; `nil` if the response is not a redirect to follow.
    @inline(never)
    private func next(
        after response: Response,
        to request: Request,
        from context: RequestContext,
        redirects: inout Redirects,
        timeStart: EngineTime?
    ) throws(ConnectionError) -> RequestContext? {
        let hop = try redirects.next(
            after: response, to: request, from: context, rules: environment.rules, activity: activity)
        guard let hop else { return nil }
        return try resolver.context(of: hop.request, after: context, withBody: hop.hasBody, timeStart: timeStart)
    }

    // MARK: One hop

    /// Returns the response of one hop, from the cache or the server.
    ///
    /// - Parameters:
    ///   - token: the token that counts the request, once it is sent.
    ///   - timeStart: the start of the request's time, for the next hop.
    @inline(never)
    private func hopResponse(
        for context: RequestContext,
        token: inout ActivityToken?,
        timeStart: inout EngineTime?
    ) async throws(ConnectionError) -> Response {
        var progress = HopProgress(timeStart: context.timeStart)
        while true {
            let position = invalidations.position
            let loaded = progress.ignoresStored ? nil : await lookup.load(for: context)
            defer { withExtendedLifetime(loaded) {} }
            switch lookup.step(for: context, ignoresStored: progress.ignoresStored) {
            case .serve(let stored, let source):
                if let response = try await served(stored, as: source, for: context, progress: &progress) {
                    return response
                }
            case .serveStale(let stored):
                if let response = try await servedStale(stored, for: context, at: position, progress: &progress) {
                    return response
                }
            case .fail: return lookup.nothingStored(for: context.resolved)
            case .send(var revalidation):
                count(context, by: &token)
                revalidation.lookedUpAt = position
                let sent = sent(context, progress: progress)
                let outcome = await exchangeOutcome(
                    for: sent, revalidation, parent: context.caller.request ?? token?.id, progress: progress)
                let next = progress.next(
                    after: outcome, now: time.clock.uptime(), isTimed: time.isLimited(context.resolved),
                    hasDeadline: time.hasDeadline(context.resolved))
                guard case .finish(let result) = next else { continue }
                if sent !== context, progress.noteCollected(result) { continue }
                timeStart = progress.timeStart(after: time.hasDeadline(context.resolved) ? outcome.timeStart : nil)
                token?.note(result)
                guard context.policy.mode.mayReplace(result) else { return try result.get() }
                return try await resultElseStored(result, for: context)
            }
        }
    }

    /// Exchanges a request, together with other callers if it may be shared.
    @inline(never)
    func exchangeOutcome(
        for context: RequestContext,
        _ revalidation: Revalidation,
        parent: ActivityInterval.ID?,
        progress: HopProgress
    ) async -> ExchangeOutcome {
        do throws(ConnectionError) {
            let plan = try await builder.plan(
                for: context, revalidation, mayBeSuperseded: progress.maySupersede, timeStart: progress.timeStart,
                parent: parent)
            // A caller whose time is up joins no exchange.
            let limit = try ownTime(for: plan, progress: progress)
            if !progress.isAlone, let key = sharing.key(of: plan) {
                return await sharedOutcome(of: plan, for: key, within: limit, progress: progress)
            }
            if !progress.isAlone, limit == nil, let sink = context.caller.sink, let key = sharing.streamKey(of: plan) {
                return await streamedOutcome(of: plan, for: key, into: sink, progress: progress)
            }
            return try await ownExchange(plan, progress: progress)
        } catch {
            return ExchangeOutcome(error)
        }
    }

    /// Exchanges a request together with other callers.
    ///
    /// - Parameter limit: the caller's own time limit; `nil` if that of the exchange suffices.
    @inline(never)
    private func sharedOutcome(
        of plan: ExchangePlan,
        for key: SharedExchangeKey,
        within limit: ExchangeSharing.OwnTime?,
        progress: HopProgress
    ) async -> ExchangeOutcome {
        let joinedAt = plan.timeStart ?? time.clock.uptime()
        let run = plan.context.caller.run
        run?.setWaiting(true)
        defer { run?.setWaiting(false) }
        var receive: (@Sendable (ExchangeEvent) -> Void)?
        if let run { receive = { run.receive($0) } }
        let outcome = await sharing.outcome(
            of: sharing.exchanges, for: key, plan: plan, within: limit, onEvent: receive,
            whenJoined: { countMiss(of: plan, progress: progress) }
        ) { [self] flight in
            await sharedExchange(plan, for: flight, report: flight.receive)
        }
        return outcome.joined(at: joinedAt, by: plan)
    }

    /// Returns the caller's own time limit for a shared exchange; `nil` if that of the exchange suffices.
    private func ownTime(
        for plan: ExchangePlan,
        progress: HopProgress
    ) throws(ConnectionError) -> ExchangeSharing.OwnTime? {
        if let extra = progress.deadlineExtension {
            let rest = Duration.milliseconds(max(0, extra.deadline.milliseconds(since: time.clock.uptime())))
            return ExchangeSharing.OwnTime(limit: time.clock.limit(rest), error: extra.error)
        }
        guard let rest = try time.rest(of: plan.context.resolved, since: plan.timeStart) else { return nil }
        return ExchangeSharing.OwnTime(limit: time.clock.limit(rest), error: ConnectionError(outOfTime: true))
    }
}
