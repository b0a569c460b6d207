import Foundation
import HTTPTypes

/// One request on its way, one hop of it: resolved, with its identity where the answer may be another's, too.
struct Passage: Sendable {
    struct Identity: Sendable {
        var key: RequestKey
        var canonicalForm: [UInt8]
        /// ``CacheEntry/url``.
        var entryURL: String
        /// Whether all that has the key has that URL.
        var hasOneURL: Bool
        /// ``CacheEntry/isFoundByOthers``.
        var isFoundByOthers: Bool

        /// ``CacheEntry/url`` of whatever is stored for it; `nil` where that is not known.
        var knownURL: String? { hasOneURL ? entryURL : nil }
    }

    /// What changes on the way, but for the ``epoch``.
    struct State: Sendable {
        var marks: PassageMarks = []
        var timeUp = Boxed<ConnectionError>.none
        var begin: Int64?
        var parent: ActivityInterval.ID?
        var asker: Asker?
    }

    private let content: Content
    /// `nil` where nothing has changed, as with all that is answered from memory.
    private var state: CopyOnWrite<State>?
    /// What ``Forgotten`` counted when it set out.
    var epoch: Int

    init(_ request: borrowing Request, rules: KeyRules, at epoch: Int = 0) throws(ConnectionError) {
        do throws(RequestError) { content = try Content(request, rules) } catch { throw ConnectionError(error) }
        self.epoch = epoch
    }

    /// The next hop, where a redirect leads.
    ///
    /// - Parameters:
    ///   - hasBody: whether the body of the last one, where it had one, goes along.
    ///   - begin: when the time of the request began, where that was with the last one.
    init(
        _ request: borrowing Request,
        behind last: Passage,
        withBody hasBody: Bool,
        since begin: Int64?,
        rules: KeyRules
    ) throws(ConnectionError) {
        try self.init(request, rules: rules, at: last.epoch)
        let isOtherOrigin = wire.url.origin != last.wire.url.origin
        // A parameter goes along nowhere.
        let hasLostItems = last.wire.hasReplacedItems(rules) && !wire.hasReplacedItems(rules)
        let isStripped = isOtherOrigin && last.wire.hasCredentials(rules) || hasLostItems
        let asker = hasBody || last.asker.upload == nil ? last.asker : last.asker.uploading(nil)
        change {
            $0.marks = last.marks.intersection(.ofAllHops).union(.redirected)
            if isOtherOrigin { $0.marks.insert(.foreign) }
            if isStripped { $0.marks.insert(.stripped) }
            $0.begin = last.begin ?? last.timeUp.value?.ownBegin ?? begin
            if asker.upload != nil { $0.marks.insert(.nobodys) }
            ($0.parent, $0.asker) = (last.parent, asker)
        }
    }

    /// What was worked out before; `nil` where nothing was.
    ///
    /// - Parameter environment: the number of the one that it was worked out in.
    init?(known memory: RequestMemory, by environment: Int, at epoch: Int = 0) {
        guard let content = memory.value(by: environment, as: Content.self) else { return nil }
        (self.content, self.epoch) = (content, epoch)
    }

    func keep(in memory: RequestMemory, by environment: Int) { memory.keep(content, by: environment) }

    mutating func change(_ change: (inout State) -> Void) {
        if state == nil { state = CopyOnWrite(State()) }
        state?.change(change)
    }

    // MARK: What does not change

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
        let isItsOwn = marks.contains(.nobodys) || marks.contains(.stripped) && wire.identity != nil
        return isItsOwn ? nil : content.identity.value
    }
    /// Whether ranges are defined for the request, and none of the caller's own is in it, nor a condition: what was
    /// received of its answer can then be gone on with (RFC 9110 section 14.2).
    var isContinuable: Bool { content.isContinuable && asker.upload == nil }
    /// The files that its identity tells of, as they were then; empty where it tells of none.
    var files: [FileLook] { content.files }

    // MARK: What changes on the way

    var marks: PassageMarks { state?.value.marks ?? [] }
    /// Who asks.
    var asker: Asker { state?.value.asker ?? .nobody }
    /// What its exchanges belong to, once that has begun.
    var parent: ActivityInterval.ID? { state?.value.parent }
    /// When the time of the request began, by the clock of exchanges, where a hop or a question before has begun it.
    var begin: Int64? { state?.value.begin }
    /// What one came to that it has waited for, which was not given its own time, and has counted its miss.
    var timeUp: Boxed<ConnectionError> { state?.value.timeUp ?? .none }
    /// Until when it waits, by the clock of exchanges, where it has waited for such a one.
    var ownEnd: Int64? { timeUp.value?.ownEnd }

    /// Whether secrets are to be filled in, which could be made anew.
    var hasNamedSecrets: Bool { !wire.namedCredentials.isEmpty }

    /// The answer where only the cache may answer and cannot (RFC 9111 section 5.2.1.7).
    var nothingStored: Response { Response(status: .gatewayTimeout, source: .generated, url: url) }

    /// `nil` where nothing is stored or shared for it.
    var subject: CacheSubject? {
        identity.map {
            CacheSubject(
                key: $0.key, url: $0.entryURL, isFoundByOthers: $0.isFoundByOthers, tags: tags, identity: wire.identity)
        }
    }

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
            tags: tags
        )
    }
}
