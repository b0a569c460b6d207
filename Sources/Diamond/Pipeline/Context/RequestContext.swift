import Foundation
import HTTPTypes

/// A resolved request of one hop, for one caller; created once per hop, and immutable.
///
/// It is a class because every stage has it.
final class RequestContext: Sendable {
    /// The properties of a hop that its request does not have.
    struct Traits: OptionSet, Sendable {
        let rawValue: UInt8

        /// The response is neither stored nor shared: its user is unknown, or its streamed body has no key.
        static let uncacheable = Traits(rawValue: 1)
        /// A redirect has led to another origin than that of the first hop.
        static let foreign = Traits(rawValue: 2)
        /// A redirect has removed credentials. The response is not for callers that send them. With an identity, their
        /// key is the same.
        static let stripped = Traits(rawValue: 4)
        /// The hop follows a redirect.
        static let redirected = Traits(rawValue: 8)
        /// The body is collected in the background, after a sink has received the stored body.
        static let afterSink = Traits(rawValue: 16)
        /// No caller waits for the response.
        static let background = Traits(rawValue: 32)

        /// The traits that the next hop inherits.
        static let inherited: Traits = [.foreign, .stripped]
    }

    let resolved: ResolvedRequest
    let caller: Caller
    let traits: Traits
    /// The start of the request's time, by the exchange clock; `nil` if it starts with the exchange.
    let timeStart: EngineTime?
    /// The position in the log of invalidations at which the request was resolved. The identity may have logged out
    /// since.
    let resolvedAt: LogPosition

    private init(
        _ resolved: ResolvedRequest,
        _ caller: Caller,
        _ traits: Traits,
        timeStart: EngineTime?,
        resolvedAt: LogPosition
    ) {
        self.resolved = resolved
        self.caller = caller
        self.traits = traits
        self.timeStart = timeStart
        self.resolvedAt = resolvedAt
    }

    /// Creates the context of the first hop.
    ///
    /// - Parameter cookies: the jar whose cookies are sent. If they are sent without an identity, the user of the
    ///   response is unknown.
    convenience init(
        _ resolved: ResolvedRequest,
        for caller: Caller,
        at position: LogPosition,
        cookies: CookieJar? = nil,
        now: @autoclosure () -> Date = Date()
    ) {
        var traits: Traits = []
        if caller.upload != nil || resolved.isChanged(by: cookies, at: now()) { traits.insert(.uncacheable) }
        self.init(resolved, caller, traits, timeStart: nil, resolvedAt: caller.run?.startedAt ?? position)
    }

    /// Creates the context of the next hop after a redirect.
    ///
    /// - Parameters:
    ///   - resolved: the request that the redirect asks for.
    ///   - hasBody: whether the body of the last hop is sent again.
    ///   - timeStart: the start of the request's time.
    convenience init(
        _ resolved: ResolvedRequest,
        after last: RequestContext,
        withBody hasBody: Bool,
        timeStart: EngineTime?,
        rules: KeyRules,
        cookies: CookieJar?,
        now: @autoclosure () -> Date
    ) {
        let caller = hasBody || last.caller.upload == nil ? last.caller : last.caller.with { $0.upload = nil }
        let isOtherOrigin = resolved.wire.url.origin != last.wire.url.origin
        // Secret parameters are not sent to another URL.
        let hasLostItems = last.wire.hasReplacedItems(rules) && !resolved.wire.hasReplacedItems(rules)
        var traits = last.traits.intersection(.inherited).union(.redirected)
        if isOtherOrigin { traits.insert(.foreign) }
        if isOtherOrigin && last.wire.hasCredentials(rules) || hasLostItems { traits.insert(.stripped) }
        if caller.upload != nil || resolved.isChanged(by: cookies, at: now()) { traits.insert(.uncacheable) }
        self.init(resolved, caller, traits, timeStart: timeStart, resolvedAt: last.resolvedAt)
    }

    /// The context of a refresh in the background. If the caller has a sink, the body is collected within the engine's
    /// limit, because the caller's limit is for the sink. The conditions and the range of the caller are left out.
    var inBackground: RequestContext {
        var traits = traits.union(.background)
        if caller.sink != nil { traits.insert(.afterSink) } else { traits.remove(.afterSink) }
        // A gateway stores the body in pieces, also without a client.
        let isOfGateway = caller.sink?.takesEveryStatus == true
        let caller = isOfGateway ? caller.inBackground.with { $0.sink = DiscardingSink() } : caller.inBackground
        return RequestContext(resolved.withoutConditions, caller, traits, timeStart: nil, resolvedAt: resolvedAt)
    }

    /// Returns the context of a caller whose body goes into a sink; `nil` if the body is collected.
    func with(sink: (any BodySink)?) -> RequestContext {
        RequestContext(resolved, caller.with { $0.sink = sink }, traits, timeStart: timeStart, resolvedAt: resolvedAt)
    }

    var wire: WireRequest { resolved.wire }
    var policy: CachePolicy { resolved.policy }
    var permitScope: PermitScope { resolved.permitScope }
    var url: String { resolved.url }

    /// The identity of the request; `nil` if the response is for this caller alone. Then the cache is neither read nor
    /// written, and the exchange is not shared.
    var identity: ResolvedRequest.Identity? {
        let isForCallerAlone = traits.contains(.uncacheable) || traits.contains(.stripped) && wire.identity != nil
        return isForCallerAlone ? nil : resolved.identity
    }

    /// Whether a response that breaks can be continued.
    var isContinuable: Bool { resolved.isContinuable && caller.upload == nil }

    /// Returns the maximum number of bytes of a response's body.
    func bodyLimit(in environment: ExchangeEnvironment) -> Int {
        guard let limit = resolved.bodyLimit else { return environment.bodyLimit }
        return traits.contains(.afterSink) ? min(limit, environment.bodyLimit) : limit
    }

    /// Whether a redirect can be followed; `false` if it repeats a body that was read and cannot be read again.
    func canFollow(_ response: Response) -> Bool {
        caller.upload?.isConsumed != true || Redirect.dropsBody(status: response.status.code, method: wire.method)
    }

    /// The subject of invalidations; `nil` if nothing is stored or shared.
    var subject: CacheSubject? {
        identity.map {
            CacheSubject(
                key: $0.key, url: $0.entryURL, isFoundByOthers: $0.isFoundByOthers, tags: resolved.tags,
                identity: wire.identity)
        }
    }

    /// Returns the entry that a response is stored as; `nil` if it may not be stored.
    func entry(_ stored: StoredResponse) -> CacheEntry? { identity.map { entry(stored, under: $0) } }

    /// Returns the entry that a response is stored as.
    ///
    /// - Parameter identity: that of the request, or of a variant.
    func entry(_ stored: StoredResponse, under identity: ResolvedRequest.Identity) -> CacheEntry {
        var entry = CacheEntry(
            key: identity.key,
            request: identity.canonicalForm,
            url: identity.entryURL,
            method: wire.method == .head ? "GET" : wire.method.rawValue,
            identity: wire.identity,
            stored: stored,
            tags: resolved.tags
        )
        entry.isFoundByOthers = identity.isFoundByOthers
        entry.requestKey = identity.requestKey
        entry.groups = CacheGroups.names(of: stored.headers, origin: permitScope.origin)
        return entry
    }
}

extension ResolvedRequest {
    /// Whether the jar has cookies for the request, which has no identity.
    fileprivate func isChanged(by cookies: CookieJar?, at now: @autoclosure () -> Date) -> Bool {
        guard let cookies, identity != nil, wire.identity == nil, wire.headers[.cookie] == nil else {
            return false
        }
        return cookies.has(for: url, of: nil, at: now())
    }
}

// MARK: Activity

extension ResolvedRequest {
    /// Returns the request as the events of the cache report it.
    func lookup(in activity: Activity) -> ActivityLookup {
        ActivityLookup(
            lane: permitScope.lane, key: identity?.key,
            request: ActivityRequest(wire.method, url: url, rules: wire.rules, in: activity))
    }
}

extension RequestContext {
    /// The properties that the intervals of an exchange have in common.
    func scope(in activity: Activity, of parent: ActivityInterval.ID?) -> ActivityScope {
        ActivityScope(
            activity: activity, subject: activitySubject, parent: parent, method: wire.method, url: url,
            rules: wire.rules)
    }

    /// Counts a request or a refresh.
    func begin(_ kind: ActivityInterval.Kind, in activity: Activity) -> ActivityToken {
        activity.begin(kind, for: activitySubject) { scope(in: activity, of: nil).request }
    }

    private var activitySubject: ActivitySubject {
        ActivitySubject(lane: permitScope.lane, origin: permitScope.origin, tags: resolved.tags)
    }
}
