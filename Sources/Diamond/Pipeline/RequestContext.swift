import Foundation
import HTTPTypes

/// One hop of a request on its way to a response, for one caller. Made once per hop; immutable.
///
/// A class, because every stage has it.
final class RequestContext: Sendable {
    /// The differences between the hop and a request that is sent for the first time.
    struct Traits: OptionSet, Sendable {
        let rawValue: UInt8

        /// The response is neither stored nor shared: its user is unknown, or its streamed body has no key.
        static let uncacheable = Traits(rawValue: 1)
        /// A redirect has led to another origin than the one that was asked.
        static let foreign = Traits(rawValue: 2)
        /// A redirect has removed credentials: the response is not for those who ask with them, though an identity makes one
        /// key of both.
        static let stripped = Traits(rawValue: 4)
        /// A redirect has led here.
        static let redirected = Traits(rawValue: 8)
        /// The body is collected in the background, after a sink has had the stored one.
        static let behindSink = Traits(rawValue: 16)

        /// The traits that the next hop has, too.
        static let ofAllHops: Traits = [.foreign, .stripped]
    }

    let resolved: ResolvedRequest
    let caller: Caller
    let traits: Traits
    /// The start of the request's time, by the exchange clock; `nil` where it starts with the exchange.
    let begin: Int64?
    /// The instant at which the request was resolved: the identity may be forgotten since.
    let resolvedAt: InvalidationLog.Instant

    private init(
        _ resolved: ResolvedRequest,
        _ caller: Caller,
        _ traits: Traits,
        begin: Int64?,
        resolvedAt: InvalidationLog.Instant
    ) {
        self.resolved = resolved
        self.caller = caller
        self.traits = traits
        self.begin = begin
        self.resolvedAt = resolvedAt
    }

    /// The first hop.
    ///
    /// - Parameter cookies: a jar whose cookies are sent. Without an identity, nobody knows whose the response is then.
    convenience init(
        _ resolved: ResolvedRequest,
        for caller: Caller,
        at instant: InvalidationLog.Instant,
        cookies: CookieJar? = nil,
        now: @autoclosure () -> Date = Date()
    ) {
        var traits: Traits = []
        if caller.upload != nil || resolved.isChanged(by: cookies, at: now()) { traits.insert(.uncacheable) }
        self.init(resolved, caller, traits, begin: nil, resolvedAt: caller.run?.startedAt ?? instant)
    }

    /// The next hop of a redirect.
    ///
    /// - Parameters:
    ///   - resolved: the request that the redirect asks for.
    ///   - hasBody: whether the body of the last hop is sent again.
    ///   - begin: the start of the request's time.
    convenience init(
        _ resolved: ResolvedRequest,
        after last: RequestContext,
        withBody hasBody: Bool,
        begin: Int64?,
        rules: KeyRules,
        cookies: CookieJar?,
        now: @autoclosure () -> Date
    ) {
        let caller = hasBody || last.caller.upload == nil ? last.caller : last.caller.uploading(nil)
        let isOtherOrigin = resolved.wire.url.origin != last.wire.url.origin
        // A parameter is not sent to another URL.
        let hasLostItems = last.wire.hasReplacedItems(rules) && !resolved.wire.hasReplacedItems(rules)
        var traits = last.traits.intersection(.ofAllHops).union(.redirected)
        if isOtherOrigin { traits.insert(.foreign) }
        if isOtherOrigin && last.wire.hasCredentials(rules) || hasLostItems { traits.insert(.stripped) }
        if caller.upload != nil || resolved.isChanged(by: cookies, at: now()) { traits.insert(.uncacheable) }
        self.init(resolved, caller, traits, begin: begin, resolvedAt: last.resolvedAt)
    }

    /// The context of a refresh that nobody waits for. A body that is collected to be stored has the engine's limit, where the
    /// caller's limit was one of a sink.
    var inBackground: RequestContext {
        var traits = traits
        if caller.sink != nil { traits.insert(.behindSink) } else { traits.remove(.behindSink) }
        return RequestContext(resolved, caller.inBackground, traits, begin: nil, resolvedAt: resolvedAt)
    }

    var wire: WireRequest { resolved.wire }
    var policy: CachePolicy { resolved.policy }
    var place: PermitScope { resolved.place }
    var url: String { resolved.url }

    /// `nil` when the response is this caller's alone: the cache is neither read nor written, and the exchange is not shared.
    var identity: ResolvedRequest.Identity? {
        let isCallersAlone = traits.contains(.uncacheable) || traits.contains(.stripped) && wire.identity != nil
        return isCallersAlone ? nil : resolved.identity.value
    }

    /// Whether a response that breaks can be continued.
    var isContinuable: Bool { resolved.isContinuable && caller.upload == nil }

    /// Whether a redirect can be followed; `false` where it repeats a body that could be read only once, and was.
    func canFollow(_ response: Response) -> Bool {
        caller.upload?.isConsumed != true || Redirect.dropsBody(response.status.code, wire.method)
    }

    /// The subject of invalidations; `nil` where nothing is stored or shared.
    var subject: CacheSubject? {
        identity.map {
            CacheSubject(
                key: $0.key, url: $0.entryURL, isFoundByOthers: $0.isFoundByOthers, tags: resolved.tags,
                identity: wire.identity)
        }
    }

    /// The entry that a response is stored as.
    func entry(_ stored: StoredResponse) -> CacheEntry? {
        guard let identity else { return nil }
        return CacheEntry(
            key: identity.key,
            request: identity.canonicalForm,
            url: identity.entryURL,
            isFoundByOthers: identity.isFoundByOthers,
            method: wire.method == .head ? "GET" : wire.method.rawValue,
            identity: wire.identity,
            stored: stored,
            tags: resolved.tags
        )
    }
}

extension ResolvedRequest {
    /// Whether cookies of a jar are sent that no identity stands for.
    fileprivate func isChanged(by cookies: CookieJar?, at now: @autoclosure () -> Date) -> Bool {
        guard let cookies, identity.value != nil, wire.identity == nil, wire.headers[.cookie] == nil else {
            return false
        }
        return cookies.has(for: url, of: nil, at: now())
    }
}

// MARK: Activity

extension RequestContext {
    /// The properties that the intervals of an exchange have in common.
    func scope(in activity: Activity, of parent: ActivityInterval.ID?) -> ActivityScope {
        ActivityScope(
            activity: activity, subject: activitySubject, parent: parent, method: wire.method, url: url,
            rules: wire.rules)
    }

    /// Counts a request or a refresh.
    func begin(_ kind: ActivityInterval.Kind, in activity: Activity) -> ActivityToken {
        activity.begin(kind, activitySubject) { scope(in: activity, of: nil).request }
    }

    private var activitySubject: ActivitySubject {
        ActivitySubject(lane: place.lane, origin: place.origin, tags: resolved.tags)
    }
}
