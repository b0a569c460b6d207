import Foundation
import HTTPTypes

/// One request on its way, one hop of it: resolved, with its identity where the answer may be another's, too.
struct Passage: Sendable {
    struct Identity: Sendable {
        var key: RequestKey
        var canonicalForm: [UInt8]
        /// For people: secrets masked.
        var printableURL: String
    }

    /// What does not change on the way. A class, because a passage goes through every step, and more is copied than used.
    private final class Content: Sendable {
        let wire: WireRequest
        let policy: CachePolicy
        let timeout: Duration?
        // It is large, and few have one.
        let retry: Boxed<RetryPolicy>
        let bodyLimit: Int?
        let tags: Set<String>
        let place: FlightPlace
        let url: String
        let identity: Boxed<Identity>
        let isContinuable: Bool

        init(_ request: borrowing Request, _ rules: KeyRules) throws(RequestError) {
            let wire = try WireRequest(request)
            let isUnconditional = !Passage.hasConditions(wire.headers)
            self.wire = wire
            policy = Passage.policy(of: request)
            (timeout, retry, bodyLimit, tags) = (request.timeout, Boxed(request.retry), request.bodyLimit, request.tags)
            place = FlightPlace(lane: request.lane, origin: String(decoding: wire.url.origin, as: UTF8.self))
            url = wire.url.text(adding: wire.parameterItems)
            isContinuable = wire.method == .get && wire.body == nil && isUnconditional
            guard isUnconditional, Passage.isKeyed(wire, policy) else {
                identity = .none
                return
            }
            let form = try CanonicalForm(of: wire, rules: rules)
            identity = .some(Identity(key: form.key, canonicalForm: form.bytes, printableURL: wire.printableURL(rules)))
        }
    }

    /// What changes on the way.
    private struct State: Sendable {
        var marks: PassageMarks = []
        var epoch: Int
        var timeUp = Boxed<ConnectionError>.none
        var begin: Int64?
        var asker = Asker.nobody
        var request: ActivityInterval.ID?
    }

    private let content: Content
    private var state: Shared<State>

    init(_ request: borrowing Request, rules: KeyRules, at epoch: Int = 0) throws(ConnectionError) {
        do throws(RequestError) { content = try Content(request, rules) } catch { throw ConnectionError(error) }
        state = Shared(State(epoch: epoch))
    }

    /// The next hop, where a redirect leads.
    ///
    /// - Parameter begin: when the time of the request began, where that was with the last one.
    init(
        _ request: borrowing Request,
        behind last: Passage,
        since begin: Int64?,
        rules: KeyRules
    ) throws(ConnectionError) {
        try self.init(request, rules: rules, at: last.epoch)
        let isOtherOrigin = wire.url.origin != last.wire.url.origin
        var next = State(marks: last.marks.intersection(.ofAllHops), epoch: last.epoch, asker: last.asker)
        next.request = last.request
        next.begin = last.begin ?? last.timeUp.value?.ownBegin ?? begin
        if isOtherOrigin { next.marks.insert(.foreign) }
        if isOtherOrigin, last.wire.hasCredentials(rules) { next.marks.insert(.stripped) }
        state = Shared(next)
    }

    /// What was worked out before; `nil` where nothing was.
    ///
    /// - Parameter environment: the number of the one that it was worked out in.
    init?(known memory: RequestMemory, by environment: Int, at epoch: Int = 0) {
        guard let content = memory.value(by: environment, as: Content.self) else { return nil }
        (self.content, state) = (content, Shared(State(epoch: epoch)))
    }

    func keep(in memory: RequestMemory, by environment: Int) { memory.keep(content, by: environment) }

    var wire: WireRequest { content.wire }
    /// The request's policy, with its own `Cache-Control` taken into account.
    var policy: CachePolicy { content.policy }
    var timeout: Duration? { content.timeout }
    /// The request's own.
    var retry: RetryPolicy? { content.retry.value }
    /// The request's own.
    var bodyLimit: Int? { content.bodyLimit }
    var tags: Set<String> { content.tags }
    /// Where it stands in line for the wire.
    var place: FlightPlace { content.place }
    /// The URL that is sent, without user info and without secrets that are filled in later.
    var url: String { content.url }
    /// `nil` when the answer is this request's alone: the cache is neither read nor written, and no flight is shared.
    var identity: Identity? {
        let isNobodys = marks.contains(.nobodys) || marks.contains(.stripped) && wire.identity != nil
        return isNobodys ? nil : content.identity.value
    }
    /// Whether ranges are defined for the request, and none of the caller's own is in it, nor a condition: what was
    /// received of its answer can then be gone on with (RFC 9110 section 14.2).
    var isContinuable: Bool { content.isContinuable }
    var marks: PassageMarks { state.value.marks }
    /// What ``Forgotten`` counted when it set out.
    var epoch: Int { state.value.epoch }
    /// Who asks.
    var asker: Asker { state.value.asker }
    /// When the time of the request began, by the clock of exchanges, where a hop or a question before has begun it.
    var begin: Int64? { state.value.begin }
    /// What one came to that it has waited for, which was not given its own time, and has counted its miss.
    var timeUp: Boxed<ConnectionError> { state.value.timeUp }
    /// Until when it waits, by the clock of exchanges, where it has waited for such a one.
    var ownEnd: Int64? { timeUp.value?.ownEnd }

    /// What its exchanges belong to, once that has begun.
    var request: ActivityInterval.ID? { state.value.request }

    /// Sets out on somebody's behalf.
    mutating func begin(for asker: Asker) {
        state.change {
            ($0.asker, $0.request) = (asker, asker.request)
            if let claim = asker.claim { $0.epoch = claim.epoch }
        }
    }

    /// What it belongs to has begun.
    mutating func count(in request: ActivityInterval.ID) { state.change { $0.request = request } }

    /// The same, its time begun.
    func begun(at begin: Int64?) -> Passage { changed { $0.begin = begin } }

    /// The same behind the answer, where nobody waits for it: what is collected then, to be stored, is bound by the engine
    /// alone, where the caller's bound was one of what goes elsewhere.
    func behindAnswer(in request: ActivityInterval.ID) -> Passage {
        changed {
            if $0.asker.sink != nil { $0.marks.insert(.behindSink) } else { $0.marks.remove(.behindSink) }
            ($0.begin, $0.request) = (nil, request)
            $0.asker = $0.asker.behindAnswer
        }
    }

    private func changed(_ change: (inout State) -> Void) -> Passage {
        var passage = self
        passage.state.change(change)
        return passage
    }

    /// Whether the answer may be another's, too.
    private static func isKeyed(_ wire: WireRequest, _ policy: CachePolicy) -> Bool {
        let isCacheable = wire.method.isCacheable && !CacheControl(wire.headers).noStore
        let isAnonymous = wire.identity == nil && !wire.namedCredentials.isEmpty
        return policy.mode != .noStore && isCacheable && !isAnonymous
    }

    private static let conditions: [HTTPField.Name] = [
        .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ]

    /// Whether the caller asks for an answer to exactly these: the cache keeps out.
    private static func hasConditions(_ headers: HTTPFields) -> Bool {
        headers.contains { conditions.contains($0.name) }
    }

    private static func policy(of request: borrowing Request) -> CachePolicy {
        var policy = request.cache
        guard request.headers.contains(.cacheControl) else { return policy }
        let control = CacheControl(request.headers)
        if control.noCache || control.maxAge == 0, policy.mode == .automatic { policy.mode = .revalidate }
        if control.onlyIfCached { policy.mode = .cacheOnly }
        return policy
    }

    /// The same where cookies of a jar go along: without an identity nobody knows whose its answer is.
    func considering(_ cookies: CookieJar?, at now: Date) -> Passage {
        guard let cookies, identity != nil, wire.identity == nil, wire.headers[.cookie] == nil,
            cookies.has(for: url, of: nil, at: now)
        else { return self }
        return changed { $0.marks.insert(.nobodys) }
    }

    /// Whether what it has waited for is not its answer, and it asks again: for itself where that was for another alone, and,
    /// once, where time was up that it has still.
    mutating func asksAgain(after outcome: Flight.Outcome) -> Bool {
        guard case .failure(let error) = outcome else { return false }
        if error.code == .unshared {
            state.change { $0.marks.insert(.asksAlone) }
            return true
        }
        guard ownEnd == nil, error.ownEnd != nil else { return false }
        state.change { $0.timeUp = .some(error) }
        return true
    }

    /// Whether it failed on what is stored alone, and is looked up again: where another has taken its place meanwhile that
    /// is found, else nothing.
    mutating func looksAgain(after error: ConnectionError) -> Bool {
        guard error.code == .unread else { return false }
        if (error.cause as? CacheError)?.code != .entryGone { state.change { $0.marks.insert(.unreadable) } }
        return true
    }

    /// Where what a server has confirmed could not be read, the next question has what is left of the time.
    mutating func goOn(after outcome: Flight.Outcome) {
        guard case .failure(let error) = outcome, error.code == .unread else { return }
        state.change {
            $0.marks.insert(.wasAsked)
            $0.begin = $0.begin ?? error.ownBegin
        }
    }

    /// Whether secrets are to be filled in, which could be made anew.
    var hasNamedSecrets: Bool { !wire.namedCredentials.isEmpty }

    /// The answer where only the cache may answer and cannot (RFC 9111 section 5.2.1.7).
    var nothingStored: Response { Response(status: .gatewayTimeout, source: .generated, url: url) }

    /// `nil` where nothing is stored or shared for it.
    var subject: CacheSubject? {
        identity.map { CacheSubject(key: $0.key, url: $0.printableURL, tags: tags, identity: wire.identity) }
    }

    func entry(_ stored: StoredResponse) -> CacheEntry? {
        guard let identity else { return nil }
        return CacheEntry(
            key: identity.key,
            request: identity.canonicalForm,
            url: identity.printableURL,
            method: wire.method == .head ? "GET" : wire.method.rawValue,
            identity: wire.identity,
            stored: stored,
            tags: tags
        )
    }

    /// What goes on the wire, with the stored response's validators where there are some (RFC 9111 section 4.3.1).
    ///
    /// - Parameter wire: the request with its secrets filled in.
    func transportRequest(
        _ wire: WireRequest,
        validators stored: StoredResponse?
    ) throws(ConnectionError) -> TransportRequest {
        var items = wire.parameterItems
        items.append(contentsOf: wire.filledItems)
        let url = wire.url.text(adding: items)
        var request = TransportRequest(method: wire.method, url: url, headers: wire.headers, timeout: timeout)
        // So that the rest can be asked for where it breaks: ranges count coded bytes. What is stored is the same without.
        if asker.sink?.isContinuable == true, request.headers[.acceptEncoding] == nil {
            request.headers[.acceptEncoding] = "identity"
        }
        if let stored {
            let headers = stored.headers
            if let tag = headers[.eTag] { request.headers[.ifNoneMatch] = tag }
            if let date = headers[.lastModified] { request.headers[.ifModifiedSince] = date }
        }
        do throws(RequestError) {
            if let body = wire.body { try request.carry(body, wire.encoding) }
        } catch {
            throw ConnectionError(error)
        }
        return request
    }
}

extension TransportRequest {
    /// Takes a body: whole where it is in memory, else in pieces, which can be made again for every attempt.
    fileprivate mutating func carry(_ body: RequestBody, _ encoding: ParameterEncoding) throws(RequestError) {
        let boundary = RequestBody.randomBoundary()
        let segments = try body.segments(encoding, boundary: boundary)
        if case .multipart = body { headers[.contentType] = "multipart/form-data; boundary=\(boundary)" }
        if segments.count == 1, case .bytes(let data) = segments[0] {
            self.body = .bytes(data)
        } else {
            let length = segments.reduce(0) { $0 + $1.length }
            self.body = .stream(length: length) { BodyPieces(segments: segments) }
        }
    }
}
