import Foundation
import HTTPTypes

/// The second stage: finds the stored response for a request, decides how it may be used, and serves it.
///
/// It is a class, as ``Admission`` is.
final class CacheLookup: Sendable {
    /// The next step of a hop with a stored response.
    enum Step {
        case serve(StoredCandidate, Response.Source)
        /// Serve the response, and refresh it in the background.
        case serveStale(StoredCandidate)
        /// Send the request to the server.
        case send(Revalidation)
        /// Fail, because only the cache may answer, and it cannot.
        case fail
    }

    let cache: Cache?
    let kind: CacheKind
    /// The targeted fields of a shared cache (RFC 9213).
    let targets: [HTTPField.Name]
    /// The engine's rules for keys.
    let rules: KeyRules
    /// Whether the rules of HTTP apply where those of an app differ: a stale response is served when the server cannot
    /// be reached, and responses to POST are stored for later GETs, also if their requests do not ask for it.
    let usesHTTPRules: Bool
    /// Whether the engine is a gateway, which stores bodies with their codings.
    let isGateway: Bool
    let activity: Activity
    /// Returns the current time.
    let now: @Sendable () -> WallTime

    init(
        cache: Cache?,
        kind: CacheKind,
        targets: [HTTPField.Name],
        rules: KeyRules,
        usesHTTPRules: Bool,
        isGateway: Bool,
        activity: Activity,
        now: @escaping @Sendable () -> WallTime
    ) {
        self.cache = cache
        self.kind = kind
        self.targets = targets
        self.rules = rules
        self.usesHTTPRules = usesHTTPRules
        self.isGateway = isGateway
        self.activity = activity
        self.now = now
    }

    /// Returns the next step for a request.
    ///
    /// - Parameter ignoresStored: whether to ignore the stored response, because it cannot be read.
    @inline(never)
    func step(for context: RequestContext, ignoresStored: Bool) -> Step {
        guard context.identity != nil else {
            return context.resolved.isForCacheOnly ? .fail : .send(Revalidation())
        }
        let stored = ignoresStored ? nil : find(for: context) ?? part(for: context)
        switch (decision(on: stored?.response, for: context.resolved), stored) {
        case (.serve(let source), let stored?): return .serve(stored, source)
        // A refresh has no range, and the validators of a part are sent with a range within it only (RFC 9111 section
        // 4.3.1).
        case (.serveStaleAndRefresh, let stored?) where stored.isPart:
            return .send(Revalidation(stored: stored, isConditional: true))
        case (.serveStaleAndRefresh, let stored?): return .serveStale(stored)
        case (.ask(let isConditional, _), _):
            let variants = ignoresStored ? [] : otherVariants(of: context, besides: stored)
            return .send(Revalidation(stored: stored, isConditional: isConditional, variants: variants))
        default: return .fail
        }
    }

    /// - Parameter now: the current time; `nil` to read the clock.
    func decision(on stored: StoredResponse?, for request: ResolvedRequest, at now: WallTime? = nil) -> CacheDecision {
        CacheDecision(
            now: now ?? self.now(), stored: stored, policy: request.policy, request: request.control.value,
            targets: targets, servesDisconnected: usesHTTPRules)
    }

    /// A stored response that is served because the server has failed.
    struct Fallback {
        let stored: StoredCandidate
        let source: Response.Source
        let kind: CacheDecision.Fallback
    }

    /// Returns the stored response to serve if the server has failed; `nil` if neither policy nor server allows one.
    func fallback(for context: RequestContext) -> Fallback? {
        guard let stored = find(for: context) ?? part(for: context),
            case .ask(_, let fallback) = decision(on: stored.response, for: context.resolved), fallback != .none
        else { return nil }
        let isFresh = stored.response.isFresh(at: now(), maxAge: context.policy.maxAge?.milliseconds)
        return Fallback(stored: stored, source: isFresh ? .cache : .stale, kind: fallback)
    }

    /// Whether a stored response is returned instead of a response with this status. The body has not been read then,
    /// and may be of any size.
    func isReplaced(_ status: HTTPResponse.Status, for plan: ExchangePlan) -> Bool {
        let context = plan.context
        let isFailure = context.policy.mode == .networkElseCache ? status.code >= 500 : ServerFailure.isOne(status)
        guard plan.stored != nil, plan.isAwaited, context.policy.mode.mayFallBack, isFailure,
            let fallback = fallback(for: context)
        else { return false }
        return fallback.kind != .disconnected
    }

    /// Whether the stored response of a plan is served if the server cannot be reached.
    func isAnsweredOffline(_ plan: ExchangePlan) -> Bool {
        guard plan.isAwaited, let stored = plan.stored,
            case .ask(_, let fallback) = decision(on: stored.response, for: plan.context.resolved)
        else { return false }
        return fallback != .none
    }

    /// Whether a response that can be served was stored since a plan was made. Reads memory only.
    func isSuperseded(_ plan: ExchangePlan) -> Bool {
        guard plan.mayBeSuperseded, let identity = plan.context.identity,
            let latest = peek(identity, of: plan.context.wire)
        else { return false }
        if let old = plan.stored?.response, latest.isUnchanged(since: old) { return false }
        guard case .serve = decision(on: latest, for: plan.context.resolved) else { return false }
        return true
    }

    /// Returns the stored response in memory, or in the queue of writes.
    private func peek(_ identity: ResolvedRequest.Identity, of wire: WireRequest) -> StoredResponse? {
        selected(by: identity, of: wire) { identity in
            cache?.peek(identity.key, request: identity.canonicalForm).map { StoredCandidate($0, of: identity) }
        }?.response
    }

    /// Loads what a server has stored for a request, unless the response is in memory. Lookups find it until the result
    /// is released. A cache in a file needs no loading.
    @inline(never)
    func load(for context: RequestContext) async -> LoadedEntries.Use? {
        guard let cache, cache.loaded != nil, let identity = context.identity, peek(identity, of: context.wire) == nil
        else { return nil }
        return await cache.load(identity.key)
    }

    /// Returns the stored response; for a sink with a reader instead of the body.
    func find(for context: RequestContext) -> StoredCandidate? {
        guard let identity = context.identity else { return nil }
        return selected(by: identity, of: context.wire) { candidate(under: $0, for: context) }
    }

    private func candidate(
        under identity: ResolvedRequest.Identity,
        for context: RequestContext
    ) -> StoredCandidate? {
        guard let cache else { return nil }
        guard let sink = context.caller.sink else {
            return cache.find(identity, for: kind).map { StoredCandidate($0, of: identity) }
        }
        do throws(CacheError) {
            let reader = try cache.bodyReader(
                identity.key, request: identity.canonicalForm, url: identity.knownURL)
            guard let reader, reader.stored.isOf(kind) else { return nil }
            return candidate(of: identity, with: reader, for: sink, in: cache)
        } catch {
            report(error)
            return nil
        }
    }

    /// The responses that a gateway has stored are on disk only. It reads a body into memory, where the next request
    /// finds it, if that takes an eighth of a part of the memory tier at most.
    private func candidate(
        of identity: ResolvedRequest.Identity, with reader: BodyReader, for sink: any BodySink, in cache: Cache
    ) -> StoredCandidate {
        let known = StoredCandidate(reader.stored, of: identity, reader: .some(reader))
        guard sink.takesEveryStatus, reader.isOnDisk, reader.count <= cache.memory.partCapacity / 8,
            let whole = cache.find(identity, for: kind)
        else { return known }
        let reader = BodyReader(whole)
        return StoredCandidate(reader.stored, of: identity, reader: .some(reader))
    }

    /// Reports a failure of the cache, except those that are expected: an entry was erased, replaced or, as reported
    /// then, damaged, or a body exceeds the store's bound.
    func report(_ error: CacheError) {
        guard ![.entryGone, .corrupt, .bodyTooLarge, .unreachable].contains(error.code) else { return }
        activity.report(.cacheFailed(reason: error.message))
    }

    // MARK: Serving

    /// Returns a response in memory that may be served without changes; `nil` otherwise, even after a failure.
    func responseInMemory(to request: ResolvedRequest, bodyLimit: Int, redirectLimit: Int) -> Response? {
        guard let cache, let identity = request.identity,
            let stored = cache.findInMemory(identity.key, request: identity.canonicalForm), stored.isOf(kind),
            !stored.flags.contains(.variants), stored.bodySize <= bodyLimit,
            redirectLimit == 0 || !(300..<400).contains(stored.status),
            !isGateway || isAcceptable(stored, to: request.wire)
        else { return nil }
        let now = now()
        guard case .serve(let source) = decision(on: stored, for: request, at: now) else { return nil }
        return response(from: stored, as: source, for: request, at: now)
    }

    /// Returns a stored response, and counts the hit.
    func response(
        from stored: StoredResponse,
        as source: Response.Source,
        for request: ResolvedRequest,
        after attempts: [Attempt] = [],
        forwarding: CacheForwarding? = nil,
        at now: WallTime? = nil
    ) -> Response {
        activity.report(.hit(source, request.lookup(in: activity)))
        let now = now ?? self.now()
        let form = request.form(of: stored, at: now)
        if let key = request.identity?.key {
            cache?.count(source, of: stored, bytes: form.bytes?.count, under: key, at: now)
        }
        let isHead = request.wire.method == .head
        var response = stored.response(in: form, from: source, at: now, url: request.url, isHead: isHead)
        if !attempts.isEmpty { response.attempts = attempts }
        response.cacheStatus = CacheStatus(
            serving: stored, at: now, maxAge: request.policy.maxAge?.milliseconds, after: forwarding)
        return response
    }

    // MARK: Status

    /// Returns the reason why a request is sent; `nil` without a cache.
    ///
    /// - Parameter stored: the response that was found for it.
    func forwardReason(
        for context: RequestContext,
        stored: StoredResponse?
    ) -> CacheStatus.ForwardReason? {
        guard cache != nil else { return nil }
        guard context.identity != nil else {
            guard context.wire.method.isCacheable else { return .method }
            return context.resolved.control.value?.noStore == true ? .request : .bypass
        }
        guard let stored else { return missReason(for: context) }
        return stored.isFresh(at: now(), maxAge: context.policy.maxAge?.milliseconds) ? .request : .stale
    }

    /// Returns the reason why no stored response was found. By the keys of an app, another header is another key.
    private func missReason(for context: RequestContext) -> CacheStatus.ForwardReason {
        guard identityOfPart(for: context) == nil else { return .partial }
        guard rules.preset == .http, let identity = context.identity else { return .miss }
        guard let found = cache?.peek(identity.key, request: identity.canonicalForm), found.isOf(kind) else {
            return .uriMiss
        }
        return found.flags.contains(.variants) ? .varyMiss : .miss
    }

    /// Returns the response to a request that only the cache may answer, and cannot.
    func nothingStored(for request: ResolvedRequest) -> Response {
        var response = request.nothingStored
        if cache != nil { response.cacheStatus = .nothingStored }
        return response
    }
}

extension Cache {
    /// Returns the response that a cache of a kind has stored for a request, fresh or not.
    func find(_ identity: ResolvedRequest.Identity, for kind: CacheKind) -> StoredResponse? {
        find(identity.key, request: identity.canonicalForm, url: identity.knownURL).flatMap { $0.isOf(kind) ? $0 : nil }
    }
}
